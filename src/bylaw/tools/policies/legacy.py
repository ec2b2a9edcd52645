"""Convert the old single-file format of file policies to one file per policy.

    - name: "README Accuracy"            readme-accuracy.md
      trigger: "src/**/*"          →     trigger and safety, and the instructions as the body
      safety: "README.md"
      instructions: …

Findings point to the old file. A policy that cannot be converted with the same meaning is refused:
nobody would notice a policy that fires less often than before.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.file_policies.names import LEGACY_KEYS
from bylaw.dialects.file_policies.pattern_reader import PatternReader, texts_of
from bylaw.dialects.file_policies.written import CompareTo, Mode, WrittenPolicy
from bylaw.dialects.yaml import Mapping, Sequence, load_yaml
from bylaw.dialects.yaml.fields import FieldCodes, Fields, Findings
from bylaw.model.codes.policy_files import LEGACY_ENTRY, LEGACY_WILDCARD
from bylaw.model.errors import LoadError
from bylaw.model.visible import brief
from bylaw.tools.policies.policy_text import kebab

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.dialects.yaml import Node
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile

MAX_POLICIES = 1000
REQUIRED_KEYS = ("name", "trigger")
OPTIONAL_KEYS = ("safety", *LEGACY_KEYS, "compare_to")
_CODES = FieldCodes(LEGACY_ENTRY, LEGACY_ENTRY, LEGACY_ENTRY, LEGACY_ENTRY)


class Legacy(Struct, frozen=True):
    """The policies that can be converted, and all errors and warnings."""

    policies: tuple[WrittenPolicy, ...]
    findings: tuple[Diagnostic, ...]


def read_legacy(source: SourceFile, read: Callable[[str], str]) -> Legacy:
    """Convert the policies of a file. `read` returns the text of an instructions file.

    `read` raises LoadError if it cannot read the file.
    """
    try:
        root = load_yaml(source)
    except LoadError as refused:
        return Legacy((), tuple(refused.diagnostics))
    findings = Findings(source, _CODES)
    converting = _Converting(findings, read)
    for item in _entries(root, findings):
        converting.take(item)
    return Legacy(tuple(converting.policies.values()), tuple(findings.told()))


def _entries(root: Node, findings: Findings) -> list[Mapping]:
    if not isinstance(root, Sequence):
        headline = "the old file must be a list of policies"
        findings.refuse(LEGACY_ENTRY, headline, root.span, "begin each policy with `- name: …`")
        return []
    if len(root.items) > MAX_POLICIES:
        headline = f"more than {MAX_POLICIES:,} policies"
        findings.refuse(LEGACY_ENTRY, headline, root.items[MAX_POLICIES].span, "split the file")
        return []
    for item in root.items:
        if not isinstance(item, Mapping):
            findings.refuse(LEGACY_ENTRY, "a policy must be a mapping", item.span)
    return [item for item in root.items if isinstance(item, Mapping)]


class _Converting:
    """Converts policies one by one. `policies` has them by their new names."""

    def __init__(self, findings: Findings, read: Callable[[str], str]) -> None:
        self.policies: dict[str, WrittenPolicy] = {}
        self._findings = findings
        self._read = read

    def take(self, item: Mapping) -> None:
        fields = Fields(item, "the policy", self._findings)
        name = fields.text("name")
        if name is not None:
            fields.what = f"the policy `{brief(name)}`"
        fields.closed(REQUIRED_KEYS, OPTIONAL_KEYS)
        before = self._findings.errors
        identifier = self._identifier(fields, name)
        policy = WrittenPolicy(
            id=identifier,
            title=identifier,  # the file name replaces the name (DW-140)
            mode=Mode.TRIGGER,
            trigger=self._patterns(fields, "trigger"),
            safety=self._patterns(fields, "safety"),
            compare_to=fields.choice("compare_to", CompareTo) or CompareTo.BASE,
            body=self._instructions(fields),
        )
        if self._findings.errors == before and identifier:
            self.policies[identifier] = policy

    def _identifier(self, fields: Fields, name: str | None) -> str:
        identifier = kebab(name or "")
        if name is not None and not identifier:
            fields.wrong("name", "a text with letters or digits", "the name becomes the file name")
        elif identifier in self.policies:
            headline = f"another policy also becomes `{identifier}.md`"
            help_ = "rename one of the two policies"
            self._findings.refuse(LEGACY_ENTRY, headline, fields.span("name"), help_)
        return identifier

    def _patterns(self, fields: Fields, key: str) -> tuple[str, ...]:
        placed = PatternReader(fields).one_or_more(key)
        for one in placed:
            if one.made and _may_be_narrower(one.text):
                headline = f"`{brief(one.text)}` may match less now: `*` does not cross folders"
                help_ = "write `**/` before it to include files in subfolders"
                self._findings.doubt(LEGACY_WILDCARD, headline, one.node.span, help_)
        return texts_of(placed)

    def _instructions(self, fields: Fields) -> str:
        """Return the instructions, from the key or from the file. Exactly one must be given."""
        given = [key for key in LEGACY_KEYS if fields.has(key)]
        if len(given) != 1:
            headline = (
                "instructions are given twice" if given else f"{fields.what} has no instructions"
            )
            help_ = "keep one of `instructions` and `instructions_file`"
            self._findings.refuse(LEGACY_ENTRY, headline, fields.start, help_)
            return ""
        text = fields.text(given[0])
        if text is not None and given[0] == "instructions_file":
            text = self._from_file(fields, text)
        if text is not None and not _plain(text):
            fields.wrong(given[0], "a text that is not empty")
        return _plain(text or "")

    def _from_file(self, fields: Fields, path: str) -> str | None:
        try:
            return self._read(path)
        except LoadError as refused:
            why = refused.headline
            span = fields.span("instructions_file")
            self._findings.refuse(LEGACY_ENTRY, why, span, "the path is relative to the root")
            return None


def _may_be_narrower(pattern: str) -> bool:
    """Whether a `*` without `**/` before it may have crossed folders in the old format."""
    before = ["", *pattern.split("/")]
    return any("*" in part and part != "**" and last != "**" for last, part in pairwise(before))


def _plain(text: str) -> str:
    """Convert instructions to a body: LF line breaks, no blank lines around it."""
    return text.replace("\r\n", "\n").strip("\n").rstrip()
