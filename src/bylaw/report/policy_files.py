"""File policies as text: starter files, reading and writing, and conversion of the old format.

    - name: "README Accuracy"            readme-accuracy.md
      trigger: "src/**/*"          →     trigger and safety, and the instructions as the body
      safety: "README.md"
      instructions: …

Findings point to the old file. A policy that cannot keep its meaning is refused.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING
from unicodedata import normalize

from msgspec import Struct

from bylaw.languages.file_policies.key_readers import PatternReader, texts_of
from bylaw.languages.file_policies.reader import MAX_NAME, read_policy
from bylaw.languages.file_policies.syntax import LEGACY_KEYS, CompareTo, Mode, PolicySyntax
from bylaw.languages.yaml import YamlMapping, YamlSequence, load_yaml
from bylaw.languages.yaml_fields import FieldCodes, Fields, YamlFindings
from bylaw.model.codes.policies import LEGACY_ENTRY, LEGACY_WILDCARD
from bylaw.model.diagnostic import has_errors
from bylaw.model.display import brief
from bylaw.model.errors import LoadError, PolicyError
from bylaw.model.source import SourceFile
from bylaw.report.yaml_writer import write_inline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.languages.yaml import Node
    from bylaw.model.diagnostic import Diagnostic

_NON_WORD = re.compile(r"[\W_]+")


def kebab(title: str) -> str:
    """Convert a title to a file name: `README Accuracy` → `readme-accuracy`. May be empty."""
    words = _NON_WORD.sub("-", normalize("NFC", title).lower()).strip("-")
    return words[:MAX_NAME].rstrip("-")


def policy_text(policy: PolicySyntax) -> str:
    """Return the text of a policy file, without keys that have their default."""
    body = f"{policy.body}\n" if policy.body else ""
    return "\n".join(["---", *_front_matter(policy), "---", body])


def read_checked(path: str, text: str) -> tuple[PolicySyntax, list[Diagnostic]]:
    """Read a policy and its warnings from a text. Raise PolicyError if it does not load."""
    policy, findings = read_policy(SourceFile(path, text))
    if policy is None or has_errors(findings):
        raise PolicyError(findings)
    return policy, findings


def _front_matter(policy: PolicySyntax) -> Iterator[str]:
    if policy.title != policy.id:
        yield f"name: {write_inline(policy.title)}"
    if policy.mode is Mode.PAIR:
        yield "pair:"
        yield from _pattern_lines("trigger", policy.trigger, "  ")
        yield from _pattern_lines("expects", policy.expects, "  ")
    else:
        yield from _pattern_lines(policy.mode, policy.trigger)
    yield from _pattern_lines("safety", policy.safety)
    if policy.action is not None:
        yield "action:"
        yield f"  command: {write_inline(policy.action.command)}"
        yield f"  run_for: {policy.action.run_for}"
    if policy.compare_to is not CompareTo.BASE:
        yield f"compare_to: {policy.compare_to}"


def _pattern_lines(key: str, patterns: Sequence[str], indent: str = "") -> Iterator[str]:
    """Write one pattern on the line of its key, several below it."""
    if len(patterns) == 1 and key != Mode.SET:
        yield f"{indent}{key}: {write_inline(patterns[0])}"
    elif patterns:
        yield f"{indent}{key}:"
        yield from (f"{indent}  - {write_inline(one)}" for one in patterns)


MAX_POLICIES = 1000
REQUIRED_KEYS = ("name", "trigger")
OPTIONAL_KEYS = ("safety", *LEGACY_KEYS, "compare_to")
_CODES = FieldCodes(LEGACY_ENTRY, LEGACY_ENTRY, LEGACY_ENTRY, LEGACY_ENTRY)


class LegacyPolicies(Struct, frozen=True):
    """The policies that can be converted, and all errors and warnings."""

    policies: tuple[PolicySyntax, ...]
    findings: tuple[Diagnostic, ...]


def read_legacy(source: SourceFile, read: Callable[[str], str]) -> LegacyPolicies:
    """Convert the policies of a file. `read` returns the text of an instructions file.

    `read` raises LoadError if it cannot read the file.
    """
    try:
        root = load_yaml(source)
    except LoadError as refused:
        return LegacyPolicies((), tuple(refused.diagnostics))
    findings = YamlFindings(source, _CODES)
    converting = _LegacyConverter(findings, read)
    for item in _entries(root, findings):
        converting.take(item)
    return LegacyPolicies(tuple(converting.policies.values()), tuple(findings.told()))


def _entries(root: Node, findings: YamlFindings) -> list[YamlMapping]:
    if not isinstance(root, YamlSequence):
        headline = "the old file must be a list of policies"
        findings.refuse(LEGACY_ENTRY, headline, root.span, "begin each policy with `- name: …`")
        return []
    if len(root.items) > MAX_POLICIES:
        headline = f"more than {MAX_POLICIES:,} policies"
        findings.refuse(LEGACY_ENTRY, headline, root.items[MAX_POLICIES].span, "split the file")
        return []
    for item in root.items:
        if not isinstance(item, YamlMapping):
            findings.refuse(LEGACY_ENTRY, "a policy must be a mapping", item.span)
    return [item for item in root.items if isinstance(item, YamlMapping)]


class _LegacyConverter:
    """Converts policies one by one. `policies` has them by their new names."""

    def __init__(self, findings: YamlFindings, read: Callable[[str], str]) -> None:
        self.policies: dict[str, PolicySyntax] = {}
        self._findings = findings
        self._read = read

    def take(self, item: YamlMapping) -> None:
        fields = Fields(item, "the policy", self._findings)
        name = fields.text("name")
        if name is not None:
            fields.what = f"the policy `{brief(name)}`"
        fields.closed(REQUIRED_KEYS, OPTIONAL_KEYS)
        before = self._findings.errors
        identifier = self._identifier(fields, name)
        policy = PolicySyntax(
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
                self._findings.warn(LEGACY_WILDCARD, headline, one.node.span, help_)
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
        if text is not None and not _normal_body(text):
            fields.wrong(given[0], "a text that is not empty")
        return _normal_body(text or "")

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


def _normal_body(text: str) -> str:
    """Convert instructions to a body: LF line breaks, no blank lines around it."""
    return text.replace("\r\n", "\n").strip("\n").rstrip()


_TOP = """\
---
# Title to show instead of the file name:
# name: A Title

"""
_BOTTOM = """
# Compare the work tree with `base`, the start of the branch (default), with `default_tip`, the
# newest commit of the default branch, or with `prompt`, its state at the last prompt.
# compare_to: base

# Run a command on the files instead of sending the text below, which is then only a note.
# action:
#   command: ruff format {file}
#   run_for: each_match
---
"""
_MODES = {
    Mode.TRIGGER: """\
# Fires when one of these files changes. `*` matches within a folder, `**/` any number of folders.
trigger: src/**/*.py

# Does not fire if one of these also changes:
# safety: README.md
""",
    Mode.SET: """\
# When one of these files changes, all others must change. `{path}` must capture the same text in
# all of them. It may cross folders; placeholders with other names match within one folder.
set:
  - src/{path}.py
  - tests/{path}_test.py
""",
    Mode.PAIR: """\
# When the trigger changes, the expected file must change. The reverse is not required.
pair:
  trigger: api/{path}.py
  expects: docs/api/{path}.md
""",
    Mode.CREATED: """\
# Fires when one of these files is new. `*` matches within a folder, `**/` any number of folders.
created: src/**/*.py
""",
}
BODIES = {
    Mode.TRIGGER: "These files changed: {trigger_files}. Check what depends on them.",
    Mode.SET: "{trigger_files} changed without {expected_files}. Update them.",
    Mode.PAIR: "{trigger_files} changed without {expected_files}. Update them.",
    Mode.CREATED: "These files are new: {trigger_files}. Check that they have what they need.",
}


def starter_text(mode: Mode) -> str:
    """Return the text of the file."""
    return f"{_TOP}{_MODES[mode]}{_BOTTOM}{BODIES[mode]}\n"
