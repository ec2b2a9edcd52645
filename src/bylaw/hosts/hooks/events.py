"""Hook event → Bylaw events, in the order in which they are submitted: see `KINDS_AT`.

If one of them is denied, the following ones are not submitted: they do not happen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.event import (
    AgentStop,
    Message,
    Prompt,
    SessionEnd,
    SessionStart,
    ToolAfter,
    ToolBefore,
    TurnEnd,
    TurnStart,
)
from bylaw.model.values import as_text
from bylaw.model.vocabulary import Kind, Moment, Role
from bylaw.runtime.effects import KINDS_AT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bylaw.hosts.hooks.base import Call, Heard
    from bylaw.model.event import Event

GATE_EVENTS = (Prompt, TurnStart, ToolBefore)


def events_of(heard: Heard) -> tuple[Event, ...]:
    """Return the events that a hook event leads to."""
    # Some clients announce that a turn continues with an empty prompt. No person wrote it.
    if heard.moment is Moment.PROMPT and not heard.text:
        return ()
    made = (_MAKE[kind](heard) for kind in KINDS_AT[heard.moment])
    return tuple(one for one in made if one is not None)


def _message(heard: Heard) -> Event | None:
    """Return the message of the person, the tool or the agent; None if the agent said nothing."""
    if heard.call is not None:
        text = as_text(heard.call.result) or heard.call.error
        return Message(role=Role.TOOL, text=text)
    role = Role.USER if heard.moment is Moment.PROMPT else Role.ASSISTANT
    return Message(role=role, text=heard.text) if heard.text else None


def _before(heard: Heard) -> Event:
    call = _call(heard)
    return ToolBefore(tool=call.tool, also=call.also, args=call.args, call=call.id)


def _after(heard: Heard) -> Event:
    call = _call(heard)
    assert call.status is not None
    return ToolAfter(
        tool=call.tool,
        also=call.also,
        args=call.args,
        call=call.id,
        status=call.status,
        result=call.result,
        error=call.error,
        ms=call.ms,
    )


def _call(heard: Heard) -> Call:
    assert heard.call is not None
    return heard.call


_MAKE: Mapping[Kind, Callable[[Heard], Event | None]] = {
    Kind.SESSION_START: lambda _: SessionStart(),
    Kind.PROMPT: lambda heard: Prompt(text=heard.text or ""),
    Kind.MESSAGE: _message,
    Kind.TURN_START: lambda _: TurnStart(),
    Kind.TOOL_BEFORE: _before,
    Kind.TOOL_AFTER: _after,
    Kind.TURN_END: lambda heard: TurnEnd(text=heard.text or ""),
    Kind.AGENT_STOP: lambda heard: AgentStop(text=heard.text or "", each=True),
    Kind.SESSION_END: lambda _: SessionEnd(),
}
