"""Checks of protocols and constraints of responses, as guards that match a violation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.context.declared import CheckType
from bylaw.dialects.context.output import broken, has_block
from bylaw.dialects.context.payload import ERROR_RESPONSE, Payload, is_payload
from bylaw.dialects.context.symbols import Symbol
from bylaw.model.codes.context import CONFLICT
from bylaw.model.decision import Match
from bylaw.model.event import TurnEnd

if TYPE_CHECKING:
    from bylaw.dialects.context.declared import Check, Constraints
    from bylaw.dialects.context.document import Document
    from bylaw.model.rule import View

WHY = "why"


class ToolCheck(Struct, frozen=True):
    """The check `forbid_tool`. The index passes only calls of that tool to it."""

    check: Check

    def test(self, view: View) -> Match | None:  # noqa: ARG002 - signature of `Guard`
        """Match every call: each one is a violation."""
        return Match({WHY: f"the tool '{self.check.about}' is forbidden"})


class OutputCheck(Struct, frozen=True):
    """A check of an output."""

    check: Check
    document: Document

    def test(self, view: View) -> Match | None:
        """Match if the output violates the check."""
        event = judged_output(view)
        # People see each part of an output, so `forbid_block` also applies to parts.
        if event is None or not (event.final or self.check.type is CheckType.FORBID_BLOCK):
            return None
        why = self._why(view, event)
        return Match({WHY: why}) if why else None

    def _why(self, view: View, event: TurnEnd) -> str:
        about = self.check.about
        match self.check.type:
            case CheckType.REQUIRE_TOOL:
                called = view.session.called_for_answer(about)
                return "" if called else f"the tool '{about}' was not called"
            case CheckType.FORBID_BLOCK:
                return f"the block '{about}' is forbidden" if has_block(whole(event), about) else ""
            case CheckType.REQUIRE_BLOCK:
                return "" if has_block(whole(event), about) else f"the block '{about}' is missing"
            case CheckType.REQUIRE_RESPONSE_ID:
                used = used_response(view, event, self.document)
                return "" if used == about else f"the output does not use the response '{about}'"
        raise AssertionError(self.check.type)


class ConstraintCheck(Struct, frozen=True):
    """The constraints of a response. They apply to outputs that use the response."""

    response: str
    constraints: Constraints
    document: Document

    def test(self, view: View) -> Match | None:
        """Match if the output violates a constraint; bind all violations."""
        event = judged_output(view)
        if event is None or not event.final:
            return None
        if used_response(view, event, self.document) != self.response:
            return None
        found = "; ".join(broken(whole(event), self.constraints))
        return Match({WHY: found}) if found else None


def judged_output(view: View) -> TurnEnd | None:
    """Return the output, or the part of one, unless it is an error payload (AC-125)."""
    event = view.event
    if not isinstance(event, TurnEnd):
        return None
    is_error = event.response == ERROR_RESPONSE and is_payload(event.text)
    return None if is_error else event


def whole(event: TurnEnd) -> str:
    """Return the full text of an answer: a model may write, call tools, and write again."""
    return f"{event.earlier}\n{event.text}" if event.earlier else event.text


def used_response(view: View, event: TurnEnd, document: Document) -> str:
    """Return the response of an output: named by the host, else selected by the last command."""
    if not event.response:
        return view.slate.response
    found = document.responses.find(event.response)
    return found.qualified if isinstance(found, Symbol) else event.response


class HaltPayload(Struct, frozen=True):
    """The error payload of a violation. Its code is CONFLICT: no other code fits (AC-A23)."""

    block_type: str
    id: str
    line: int

    def make(self, view: View, match: Match) -> str:
        """Return the text of the payload."""
        return Payload(
            code=CONFLICT.name,
            message=str(match.values[WHY]),
            block_type=self.block_type,
            id=self.id,
            line=self.line,
            responses=view.slate.enabled.responses,
            workflows=view.slate.enabled.workflows,
        ).text()
