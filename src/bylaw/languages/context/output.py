"""Outputs of the language: error payloads, the text for the model, and checks of an output.

- The error payload is the whole output of its turn (AC-126 to AC-134, AC-A25).
- The text for the model lists the enabled rules and the variables. Names and values from a
  document are quoted on one line, so none of them can look like a line of ours. The same input
  gives the same bytes.
- An output is checked only for visible things (AC-175): marker lines, words, code fences, tables.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.languages.context import NAME
from bylaw.languages.context.blocks import PRECEDENCE
from bylaw.languages.context.declarations import CheckType, StepKind
from bylaw.model.display import clip_text, visible, visible_in_json
from bylaw.model.session import variable_space

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.languages.context.blocks import Problem
    from bylaw.languages.context.declarations import (
        Constraints,
        Document,
        ProtocolForm,
        ResponseForm,
        StateForm,
        WorkflowForm,
    )
    from bylaw.languages.context.references import Symbol
    from bylaw.model.session import Variables
    from bylaw.model.values import JSON

# A fence may also be inside a quote or a list.
_INSIDE = r"^[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*"
_FENCE = re.compile(_INSIDE + r"(?:```|~~~)", re.MULTILINE)
_HTML_TABLE = re.compile(r"<table\b", re.IGNORECASE)
_QUOTES = " \t>"
_TABLE_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
# A section name is a heading (with number or emphasis), the text before a colon, or a whole line.
_SECTION = (
    r"^[ \t>]*(?:[-*+][ \t]+)?(?:#{{1,6}}[ \t]+)?(?:[0-9.]+[.)]?[ \t]+)?"
    r"[*_]*{}[*_]*[ \t]*(?::|\r?$)"
)


def has_block(text: str, block_type: str) -> bool:
    """Return whether the opening marker of that type is alone on a line (AC-A40)."""
    marker = f"[[{block_type}]]"
    return marker in text and any(line.strip() == marker for line in text.split("\n"))


def violations(text: str, constraints: Constraints) -> Iterator[str]:
    """Yield a message for each constraint that the output violates."""
    for section in constraints.sections:
        if not re.search(_SECTION.format(re.escape(section)), text, re.MULTILINE):
            yield f"the section '{section}' is missing"
    for needle in constraints.must_include:
        if needle not in text:
            yield f"'{needle}' is missing"
    if not constraints.allow_code_blocks and _FENCE.search(text):
        yield "it contains a code block"
    if constraints.forbid_tables and has_table(text):
        yield "it contains a table"


def has_table(text: str) -> bool:
    """Return whether a row is followed by the rule of a Markdown table, or an HTML table starts."""
    before = ""
    for line in text.split("\n"):
        rule = "|" in line and "|" in before and "-" in line
        if rule and _TABLE_RULE.fullmatch(line.lstrip(_QUOTES).rstrip()):
            return True
        before = line
    return _HTML_TABLE.search(text) is not None


ERROR_HEADER = "ERROR: ai-context-language"
ERROR_RESPONSE = "ai_context_error"  # the response that an error uses
# Everything that YAML 1.1 or 1.2 would not read as a text is quoted.
_PLAIN = re.compile(r"(?!(?i:null|true|false|yes|no|on|off|y|n)$)[A-Za-z_][A-Za-z0-9_.-]*")
# A payload must not contain a fence or a table, even if a message quotes one (AC-134).
_HIDDEN = str.maketrans({"`": "\\u0060", "|": "\\u007c"})


class Payload(Struct, frozen=True, kw_only=True):
    """The parts of an error payload. Empty parts are left out."""

    code: str
    message: str
    block_type: str = ""
    id: str = ""
    line: int = 0
    responses: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    hint: str = ""

    @classmethod
    def of(cls, problem: Problem) -> Payload:
        """Return the payload of an error in the document itself."""
        place = problem.place
        return cls(
            code=problem.code.name,
            message=problem.message,
            block_type=place.block_type,
            id=place.id,
            line=place.line,
            candidates=problem.candidates,
            hint=problem.hint,
        )

    def text(self) -> str:
        """Return the header line and then YAML, with nothing around them."""
        lines = [ERROR_HEADER, f"code: {self.code}", f"message: {_quote_text(self.message)}"]
        details = list(self._details())
        lines += ["details:", *details] if details else ["details: {}"]
        lines += [f"hint: {_quote_text(self.hint)}"] if self.hint else []
        return "\n".join(lines)

    def _details(self) -> Iterator[str]:
        if self.block_type:
            yield f"  block_type: {self.block_type}"
        if self.id:
            yield f"  id: {_plain_or_quoted(self.id)}"
        if self.line:
            yield f"  line: {self.line}"
        for key in ("responses", "workflows", "candidates"):
            names = getattr(self, key)
            if names:
                yield f"  {key}: [{', '.join(map(_plain_or_quoted, names))}]"


def _plain_or_quoted(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else _quote_text(text)


def _quote_text(text: str) -> str:
    """Quote a text on one line, so that YAML and JSON read it alike."""
    plain = text.replace("`", "'")
    return visible_in_json(json.dumps(plain, ensure_ascii=False)).translate(_HIDDEN)


# Two errors that have in common only what every error contains.
SAMPLES = (
    Payload(code="CONFLICT", message="").text(),
    Payload(code="UNKNOWN_ID", message="there is none", id="x", hint="write it").text(),
)
_FORM = re.compile(
    rf'{ERROR_HEADER}\ncode: [A-Z_]+\nmessage: "[^\n]*"\ndetails:(?: {{}}|(?:\n  [a-z_]+: [^\n]+)+)'
    r'(?:\nhint: "[^\n]*")?'
)


def is_payload(text: str) -> bool:
    """Return whether a text is exactly one payload, with no other text before, in or after it."""
    return _FORM.fullmatch(text) is not None


def space_of(module: str) -> str:
    """Return the name of the space that holds the variables of a module."""
    return variable_space(NAME, module)


def current_value(symbol: Symbol[StateForm], slate: Variables) -> JSON:
    """Return the value of a variable: its default until a command sets it."""
    return slate.space(space_of(symbol.module)).get(symbol.name, symbol.what.default)


def current_values(document: Document, slate: Variables) -> dict[str, JSON]:
    """Return every variable by its qualified name, in the order of the document."""
    return {
        name: current_value(symbol, slate) for name, symbol in document.states.by_qualified.items()
    }


STATE_HEADER = "ai-context-language: rules that are active now"
NOTHING_ENABLED = "Nothing is enabled."
ENFORCEMENT_TEXT = (
    "They replace all earlier ones. Bylaw checks your tool calls and outputs. If one of them breaks"
    " a rule below, Bylaw ends the turn and shows an error instead."
)
PRECEDENCE_TEXT = (
    "If kinds conflict, the first one in this list wins; protocols always apply:"
    f" {', '.join(PRECEDENCE)}."
)
MAX_DESCRIPTION = 300
MAX_VALUE = 500

_CHECKS = {
    CheckType.FORBID_TOOL: "never call the tool {}",
    CheckType.REQUIRE_TOOL: "call the tool {} at least once before you answer",
    CheckType.FORBID_BLOCK: "never write the line {} in the output",
    CheckType.REQUIRE_BLOCK: "write the line {} in the output",
    CheckType.REQUIRE_RESPONSE_ID: "use the response {} for the output",
}
_BLOCK_CHECKS = (CheckType.FORBID_BLOCK, CheckType.REQUIRE_BLOCK)
_STEPS = {
    StepKind.EMIT_RESPONSE: "answer with the response {}",
    StepKind.ENFORCE_PROTOCOL: "follow the protocol {}",
    # Text blocks have no ids and are not enforced yet (AC-A30).
    StepKind.ENFORCE_CHECKLIST: "consider the checklists (not enforced)",
    StepKind.ENFORCE_GUIDELINE: "consider the guidelines (not enforced)",
    StepKind.ENFORCE_ENGINEERING: "consider the engineering notes (not enforced)",
}


def render_state(document: Document, slate: Variables) -> str:
    """Return the text; it ends with a line break."""
    parts = [
        *_part("Responses", _responses(document, slate)),
        *_part("Workflows", _workflows(document, slate)),
        *_part("Protocols", _protocols(document, slate)),
    ]
    lines = [
        STATE_HEADER,
        *((ENFORCEMENT_TEXT, PRECEDENCE_TEXT) if parts else (NOTHING_ENABLED,)),
        *parts,
        *_part("State", _state(document, slate)),
    ]
    return "".join(f"{line}\n" for line in lines)


def _part(title: str, lines: Iterator[str]) -> list[str]:
    found = list(lines)
    return ["", f"{title}:", *found] if found else []


def _responses(document: Document, slate: Variables) -> Iterator[str]:
    for name in slate.enabled.responses:
        symbol = document.responses.by_qualified.get(name)
        if symbol is not None:
            used = " (in use)" if name == slate.response else ""
            yield from _response(name + used, symbol.what)


def _response(title: str, form: ResponseForm) -> Iterator[str]:
    yield _title(title, form.description)
    for words in _constraints(form.constraints):
        yield f"  - {words}"


def _constraints(constraints: Constraints) -> Iterator[str]:
    for section in constraints.sections:
        yield f"write the section {_quote_value(section)}, as a heading or before a colon"
    for needle in constraints.must_include:
        yield f"include {_quote_value(needle)}"
    if not constraints.allow_code_blocks:
        yield "do not write a code block"
    if constraints.forbid_tables:
        yield "do not write a table"


def _workflows(document: Document, slate: Variables) -> Iterator[str]:
    for name in slate.enabled.workflows:
        symbol = document.workflows.by_qualified.get(name)
        if symbol is not None:
            yield from _workflow(name, symbol.what)


def _workflow(name: str, form: WorkflowForm) -> Iterator[str]:
    yield _title(name, form.description)
    for number, (kind, ref) in enumerate(form.steps, 1):
        yield f"  {number}. {_STEPS[kind].format(ref)}"


def _protocols(document: Document, slate: Variables) -> Iterator[str]:
    for name in slate.enabled.protocols:
        symbol = document.protocols.by_qualified.get(name)
        if symbol is not None:
            yield from _protocol(name, symbol.what)


def _protocol(name: str, form: ProtocolForm) -> Iterator[str]:
    yield _title(name, form.description)
    for rule in form.rules:
        for check in rule.checks:
            about = f"[[{check.about}]]" if check.type in _BLOCK_CHECKS else check.about
            yield f"  - {rule.id}: {_CHECKS[check.type].format(_quote_value(about))}"


def _state(document: Document, slate: Variables) -> Iterator[str]:
    for name, value in current_values(document, slate).items():
        yield f"- {name} = {clip_text(_quote_value(value), MAX_VALUE)}"


def _title(name: str, description: str) -> str:
    words = visible(clip_text(" ".join(description.split()), MAX_DESCRIPTION))
    return f"- {name}: {words}" if words else f"- {name}"


def _quote_value(value: object) -> str:
    return visible_in_json(json.dumps(value, ensure_ascii=False))
