"""A client's event → events of ours, in the order in which they are submitted.

    prompt        prompt, and if it passes: message (user), turn.start
    before tool   tool.before
    after tool    tool.after, message (tool)
    stop          message (assistant), turn.end, agent.stop

A stage that is refused ends the row: what it would have led to does not happen.
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
from bylaw.model.vocabulary import Moment, Role

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Call, Heard
    from bylaw.model.event import Event

GATE_EVENTS = (Prompt, TurnStart, ToolBefore)


def events_of(heard: Heard) -> tuple[Event, ...]:
    """What one event of a client means."""
    match heard.moment:
        case Moment.SESSION_START:
            return (SessionStart(),)
        case Moment.PROMPT:
            return _prompt(heard.text or "")
        case Moment.BEFORE_TOOL | Moment.AFTER_TOOL:
            assert heard.call is not None
            return _before(heard.call) if heard.call.status is None else _after(heard.call)
        case Moment.STOP | Moment.SUBAGENT_STOP:
            return _stop(heard.text or "")
        case Moment.SESSION_END:
            return (SessionEnd(),)
    return ()


def _prompt(text: str) -> tuple[Event, ...]:
    # A client may say again that a turn goes on, with a prompt that nobody wrote.
    if not text:
        return ()
    return Prompt(text=text), Message(role=Role.USER, text=text), TurnStart()


def _before(call: Call) -> tuple[Event, ...]:
    return (ToolBefore(tool=call.tool, also=call.also, args=call.args, call=call.id),)


def _after(call: Call) -> tuple[Event, ...]:
    assert call.status is not None
    after = ToolAfter(
        tool=call.tool,
        also=call.also,
        args=call.args,
        call=call.id,
        status=call.status,
        result=call.result,
        error=call.error,
        ms=call.ms,
    )
    return after, Message(role=Role.TOOL, text=as_text(call.result) or call.error)


def _stop(text: str) -> tuple[Event, ...]:
    said = (Message(role=Role.ASSISTANT, text=text),) if text else ()
    return *said, TurnEnd(text=text), AgentStop(text=text, each=True)
