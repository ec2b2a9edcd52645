"""The text of a policy file → the policy as written, and findings.

    ---
    trigger: src/**/*.py
    ---
    Instructions for the agent.

Both marker lines are exactly three dashes: `----` does not end the YAML (DW-109).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bylaw.languages.file_policies.key_readers import QUOTE, PatternReader, read_action, texts_of
from bylaw.languages.file_policies.syntax import (
    EXPECTED_FILES,
    KEYS,
    LEGACY_KEYS,
    MODE_KEYS,
    CompareTo,
    Mode,
    PolicySyntax,
    from_note,
    to_note,
)
from bylaw.languages.yaml import YamlMapping, load_yaml
from bylaw.languages.yaml_fields import FieldCodes, Fields, YamlFindings
from bylaw.model.codes import files as yaml_codes
from bylaw.model.codes import policies as codes
from bylaw.model.codes.policies import POLICY_FRONT_MATTER
from bylaw.model.diagnostic import error
from bylaw.model.display import brief, visible
from bylaw.model.errors import LoadError, PolicyError
from bylaw.model.source import BOM, SourceFile, Span

if TYPE_CHECKING:
    from bylaw.languages.file_policies.key_readers import PatternField
    from bylaw.model.diagnostic import Diagnostic

_LINE = r"---[ \t]*\r?(?:\n|\Z)"
_OPENING = re.compile(rf"{BOM}?{_LINE}")
_CLOSING = re.compile(rf"^{_LINE}", re.MULTILINE)
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")


class FrontMatter(Struct, frozen=True):
    """The spans of the YAML, of the line that ends it, and of the body."""

    yaml: Span
    closing: Span
    body: Span


def split_policy(source: SourceFile) -> FrontMatter:
    """Split a policy file; raise PolicyError if it has no front matter."""
    opening = _OPENING.match(source.text)
    if opening is None:
        raise _front_matter_error(
            source, "a policy must begin with a line `---`", first_line(source)
        )
    closing = _CLOSING.search(source.text, opening.end())
    if closing is None:
        place = Span(opening.start(), opening.start() + len(opening[0].rstrip()))
        raise _front_matter_error(source, "this `---` has no closing `---`", place)
    line = Span(closing.start(), closing.start() + len("---"))
    body = Span(closing.end(), len(source.text))
    return FrontMatter(Span(opening.end(), closing.start()), line, body)


def body_text(source: SourceFile, body: Span) -> str:
    """Return the body without blank lines around it, with `\\n` as line break."""
    text = source.slice(body).replace("\r\n", "\n")
    begun = _BLANK_LINES.match(text)
    return text[begun.end() if begun else 0 :].rstrip()


def front_matter_text(source: SourceFile) -> str:
    """Return the YAML; all text after the opening line if it is not closed; empty without one."""
    opening = _OPENING.match(source.text)
    if opening is None:
        return ""
    closing = _CLOSING.search(source.text, opening.end())
    return source.text[opening.end() : closing.start() if closing else None]


def first_line(source: SourceFile) -> Span:
    """Return the place for findings about the whole file or its name."""
    return Span(0, len(source.text.partition("\n")[0].rstrip()))


def _front_matter_error(source: SourceFile, headline: str, span: Span) -> PolicyError:
    help_ = "write `---`, the keys and `---` on lines of their own, then the instructions"
    return PolicyError([error(POLICY_FRONT_MATTER, headline, source, span, help=help_)])


FIELD_CODES = FieldCodes(
    unknown_key=codes.POLICY_UNKNOWN_KEY,
    missing_key=codes.POLICY_MISSING_KEY,
    wrong_value=codes.POLICY_WRONG_VALUE,
    not_a_choice=codes.POLICY_NOT_A_CHOICE,
)
_BODY_HELP = "write the instructions below the second `---`, as the body of the file"
MAX_NAME = 200  # characters of an identifier or a title
MAX_BODY = 100_000  # characters: an agent must read the body
MIN_SET = 2
_NOT_IN_ID = ":<>/\\"
# The YAML errors that a pattern without quotes causes.
_UNQUOTED_PATTERN_CODES = {
    one.name
    for one in (
        yaml_codes.YAML_ALIAS,
        yaml_codes.YAML_ANCHOR,
        yaml_codes.YAML_COMPLEX_KEY,
        yaml_codes.YAML_SYNTAX,
        yaml_codes.YAML_TAG,
    )
}


def policy_id(path: str) -> str:
    """Return the identifier of a policy: the name of its file without the ending (DW-111)."""
    name = path.rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    return stem if stem and ending else name


def read_policy(source: SourceFile) -> tuple[PolicySyntax | None, list[Diagnostic]]:
    """Return the policy, if its file has no errors, and the findings."""
    read = read_with_note(source)
    return read.policy, read.findings


class PolicyReadResult(NamedTuple):
    """The policy of a file, the findings, and a note that replaces parsing if there are none."""

    policy: PolicySyntax | None
    findings: list[Diagnostic]
    note: bytes


def read_with_note(source: SourceFile, note: bytes = b"") -> PolicyReadResult:
    """Return the policy of a file; with a valid note, its text is not parsed again."""
    policy = from_note(note) if note else None
    found: list[Diagnostic] = []
    if policy is None:
        policy, found = _read_text(source)
        note = to_note(policy) if policy is not None and not found else b""
    wrong = _check_identifier(source)
    called = None if wrong or policy is None else _with_identifier(source, policy)
    return PolicyReadResult(called, [*wrong, *found], note)


def _with_identifier(source: SourceFile, policy: PolicySyntax) -> PolicySyntax:
    identifier = policy_id(source.path)
    return replace(policy, id=identifier, title=policy.title or identifier)


def _check_identifier(source: SourceFile) -> list[Diagnostic]:
    """Check the identifier. It is part of hashes, promises and file names and must fit in them."""
    identifier = policy_id(source.path)
    if is_valid_name(identifier) and not any(sign in identifier for sign in _NOT_IN_ID):
        return []
    headline = f"invalid policy identifier `{visible(brief(identifier))}`"
    help_ = "rename the file: use letters, digits, `-` and `_`, such as `readme-accuracy.md`"
    return [error(codes.POLICY_IDENTIFIER, headline, source, first_line(source), help=help_)]


def _read_text(source: SourceFile) -> tuple[PolicySyntax | None, list[Diagnostic]]:
    """Read the text alone: the policy has no identifier and no default title yet."""
    try:
        parts = split_policy(source)
        root = load_yaml(source, parts.yaml)
    except LoadError as refused:
        return None, [_with_quote_hint(one) for one in refused.diagnostics]
    findings = YamlFindings(source, FIELD_CODES)
    if not isinstance(root, YamlMapping):
        help_ = "write `key: value` lines, such as `trigger: src/**/*.py`"
        headline = "the front matter must contain keys and values"
        findings.refuse(codes.POLICY_WRONG_VALUE, headline, root.span, help_)
        return None, findings.told()
    policy = _Reader(Fields(root, "the policy", findings), parts).read()
    return None if findings.errors else policy, findings.told()


def _with_quote_hint(found: Diagnostic) -> Diagnostic:
    """Extend the help: the usual cause of these YAML errors is an unquoted pattern (DW-A32)."""
    if found.code not in _UNQUOTED_PATTERN_CODES or QUOTE in found.help:
        return found
    return replace(found, help=f"{found.help}; if it is a path pattern, {QUOTE}")


class _Reader:
    """Reads the keys of one policy; errors are added to the findings."""

    def __init__(self, fields: Fields, parts: FrontMatter) -> None:
        self.fields = fields
        self.findings = fields.findings
        self.source = fields.findings.source
        self.parts = parts
        self.patterns = PatternReader(fields)

    def read(self) -> PolicySyntax:
        self.fields.closed((), KEYS, dict.fromkeys(LEGACY_KEYS, _BODY_HELP))
        mode = self._mode()
        trigger, expects = self._read_mode(mode)
        safety = self.patterns.one_or_more("safety")
        action = read_action(self.fields)
        title = self._title()
        compare_to = self.fields.choice("compare_to", CompareTo)
        body = self._body(mode, needed=not self.fields.has("action"))
        return PolicySyntax(
            id="",
            title=title,
            mode=mode,
            trigger=texts_of(trigger),
            safety=texts_of(safety),
            expects=texts_of(expects),
            action=action,
            compare_to=compare_to or CompareTo.BASE,
            body=body,
            last_line=self.source.position(max(len(self.source.text) - 1, 0)).line,
        )

    def _mode(self) -> Mode:
        """Return the one mode of the policy (DW-001, DW-A09); `trigger` if it is missing."""
        given = [mode for mode in Mode if self.fields.has(mode)]
        if not given and not self.findings.errors:
            listed = ", ".join(f"`{key}`" for key in MODE_KEYS)
            headline = "the policy does not say what triggers it"
            help_ = f"add one of {listed}"
            self.findings.refuse(codes.POLICY_MODE, headline, self.fields.start, help_)
        for other in given[1:]:
            headline = f"the policy has both `{given[0]}` and `{other}`"
            help_ = "keep one of the two, and write a second policy for the other"
            span = self.fields.key_span(other)
            self.findings.refuse(codes.POLICY_MODE, headline, span, help_)
        mode = given[0] if given else Mode.TRIGGER
        if given and mode is not Mode.TRIGGER and self.fields.has("safety"):
            headline = f"`safety` cannot be combined with `{mode}`"
            help_ = "delete it; only a policy with `trigger` can have `safety`"
            span = self.fields.key_span("safety")
            self.findings.refuse(codes.POLICY_MISPLACED_SAFETY, headline, span, help_)
        return mode

    def _read_mode(self, mode: Mode) -> tuple[list[PatternField], list[PatternField]]:
        """Return the patterns that trigger the policy, and the patterns that it then expects."""
        match mode:
            case Mode.SET:
                return self._set(), []
            case Mode.PAIR:
                return self._pair()
            case _:
                return self.patterns.one_or_more(mode), []

    def _set(self) -> list[PatternField]:
        errors_before = self.findings.errors
        placed = self.patterns.several("set")
        if self.findings.errors == errors_before and len(texts_of(placed)) < MIN_SET:
            headline = "a set needs at least two different patterns"
            help_ = "add the pattern of the files that must change together with these"
            self.findings.refuse(codes.POLICY_SET_SIZE, headline, self.fields.span("set"), help_)
        self.patterns.check_set(placed)
        return placed

    def _pair(self) -> tuple[list[PatternField], list[PatternField]]:
        fields = self.fields.mapping("pair", "`pair`")
        if fields is None:
            return [], []
        fields.closed(("trigger", "expects"))
        patterns = PatternReader(fields, "pair.")
        trigger, expects = patterns.only_one("trigger"), patterns.one_or_more("expects")
        patterns.check_expected(expects, trigger)
        return trigger, expects

    def _title(self) -> str:
        title = self.fields.text("name")
        if title is not None and not is_valid_name(title.strip()):
            help_ = f"write 1 to {MAX_NAME} visible characters, or delete the key"
            self.fields.wrong("name", "a title on one line", help_)
        return (title or "").strip()

    def _body(self, mode: Mode, *, needed: bool) -> str:
        body = body_text(self.source, self.parts.body)
        if needed and not body:
            headline = "the policy has no instructions"
            help_ = "write below this line what the agent must do, or add an `action`"
            self.findings.refuse(codes.POLICY_NO_BODY, headline, self.parts.closing, help_)
        if len(body) > MAX_BODY:
            headline = f"the instructions are longer than {MAX_BODY:,} characters"
            span = Span(self.parts.body.start + MAX_BODY, self.parts.body.end)
            help_ = "shorten them, or name a file to read"
            self.findings.refuse(codes.POLICY_WRONG_VALUE, headline, span, help_)
        if mode in (Mode.TRIGGER, Mode.CREATED) and EXPECTED_FILES in body:
            at = self.source.text.index(EXPECTED_FILES, self.parts.body.start)
            headline = f"`{EXPECTED_FILES}` is always empty here"
            help_ = "only a policy with `set` or `pair` expects files"
            span = Span(at, at + len(EXPECTED_FILES))
            self.findings.warn(codes.POLICY_NOTHING_EXPECTED, headline, span, help_)
        return body


def is_valid_name(text: str) -> bool:
    """Return whether a text is a usable name: short, visible, and without blanks around it."""
    return 0 < len(text) <= MAX_NAME and visible(text) == text and text.strip() == text
