"""The text for the model: the rules of a document that are enabled now, and the variables.

The text lists everything that is enforced. Names and values from a document are quoted on one
line, so none of them can look like a line of ours. The same input gives the same bytes.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bylaw.dialects.context.declared import CheckType, StepKind
from bylaw.dialects.context.framing import PRECEDENCE
from bylaw.dialects.context.standing import standing
from bylaw.model.visible import clipped, visible, visible_in_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.dialects.context.declared import Constraints
    from bylaw.dialects.context.document import (
        Document,
        ProtocolForm,
        ResponseForm,
        WorkflowForm,
    )
    from bylaw.model.slate import Slate

HEADER = "ai-context-language: rules that are active now"
NOTHING = "Nothing is enabled."
ENFORCED = (
    "They replace all earlier ones. Bylaw checks your tool calls and outputs. If one of them breaks"
    " a rule below, Bylaw ends the turn and shows an error instead."
)
PRECEDED = (
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


def rendered(document: Document, slate: Slate) -> str:
    """Return the text; it ends with a line break."""
    parts = [
        *_part("Responses", _responses(document, slate)),
        *_part("Workflows", _workflows(document, slate)),
        *_part("Protocols", _protocols(document, slate)),
    ]
    lines = [
        HEADER,
        *((ENFORCED, PRECEDED) if parts else (NOTHING,)),
        *parts,
        *_part("State", _state(document, slate)),
    ]
    return "".join(f"{line}\n" for line in lines)


def _part(title: str, lines: Iterator[str]) -> list[str]:
    found = list(lines)
    return ["", f"{title}:", *found] if found else []


def _responses(document: Document, slate: Slate) -> Iterator[str]:
    for name in slate.enabled.responses:
        symbol = document.responses.by_qualified.get(name)
        if symbol is not None:
            used = " (in use)" if name == slate.response else ""
            yield from _response(name + used, symbol.what)


def _response(title: str, form: ResponseForm) -> Iterator[str]:
    yield _titled(title, form.description)
    for words in _constraints(form.constraints):
        yield f"  - {words}"


def _constraints(constraints: Constraints) -> Iterator[str]:
    for section in constraints.sections:
        yield f"write the section {_quoted(section)}, as a heading or before a colon"
    for needle in constraints.must_include:
        yield f"include {_quoted(needle)}"
    if not constraints.allow_code_blocks:
        yield "do not write a code block"
    if constraints.forbid_tables:
        yield "do not write a table"


def _workflows(document: Document, slate: Slate) -> Iterator[str]:
    for name in slate.enabled.workflows:
        symbol = document.workflows.by_qualified.get(name)
        if symbol is not None:
            yield from _workflow(name, symbol.what)


def _workflow(name: str, form: WorkflowForm) -> Iterator[str]:
    yield _titled(name, form.description)
    for number, (kind, ref) in enumerate(form.steps, 1):
        yield f"  {number}. {_STEPS[kind].format(ref)}"


def _protocols(document: Document, slate: Slate) -> Iterator[str]:
    for name in slate.enabled.protocols:
        symbol = document.protocols.by_qualified.get(name)
        if symbol is not None:
            yield from _protocol(name, symbol.what)


def _protocol(name: str, form: ProtocolForm) -> Iterator[str]:
    yield _titled(name, form.description)
    for rule in form.rules:
        for check in rule.checks:
            about = f"[[{check.about}]]" if check.type in _BLOCK_CHECKS else check.about
            yield f"  - {rule.id}: {_CHECKS[check.type].format(_quoted(about))}"


def _state(document: Document, slate: Slate) -> Iterator[str]:
    for name, value in standing(document, slate).items():
        yield f"- {name} = {clipped(_quoted(value), MAX_VALUE)}"


def _titled(name: str, description: str) -> str:
    words = visible(clipped(" ".join(description.split()), MAX_DESCRIPTION))
    return f"- {name}: {words}" if words else f"- {name}"


def _quoted(value: object) -> str:
    return visible_in_json(json.dumps(value, ensure_ascii=False))
