"""Describe events and steps in a few words. The result is not escaped yet."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from bylaw.model.effects import (
    CommandRun,
    EventEmit,
    Log,
    MessageInsert,
    Notify,
    Outcome,
    StateSet,
    ToolCall,
)
from bylaw.model.event import (
    AgentStop,
    ApprovalGiven,
    Bus,
    Custom,
    EffectDone,
    File,
    HistoryChanged,
    Message,
    Prompt,
    RulesChanged,
    ToolAfter,
    ToolBefore,
    TurnEnd,
)
from bylaw.model.visible import clipped
from bylaw.model.vocabulary import EffectStatus
from bylaw.tools.printers.wording import in_short

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.effects import Step, Text
    from bylaw.model.event import Common, Event
    from bylaw.model.values import JSON

MAX_WORDS = 300  # characters on a line


def event_words(event: Event) -> str:
    """Describe an event without its kind."""
    tell = _PAYLOADS.get(type(event))
    words = [tell(event) if tell else ""]
    if event.round > 1:
        words.append(f"(round {event.round})")
    if event.agent:
        words.append(f"(agent {event.agent})")
    return clipped(" ".join(filter(None, words)), MAX_WORDS)


def _text_of(event: Prompt | TurnEnd | AgentStop) -> str:
    return _quoted(event.text)


def _message(event: Message) -> str:
    return f"{event.role}: {_quoted(event.text)}"


def _call(event: ToolBefore) -> str:
    return f"{event.tool} {_short(event.args)}"


def _call_ended(event: ToolAfter) -> str:
    return f"{event.tool} {event.status}{_took(event.ms)}{_said(event.error or event.result)}"


def _file(event: File) -> str:
    return f"{event.change} {event.path}" + (event.old_path and f" from {event.old_path}")


def _bus(event: Bus) -> str:
    return _short(event.message)


def _custom(event: Custom) -> str:
    return f"{event.type} {_short(event.payload)}"


def _effect(event: EffectDone) -> str:
    return f"{event.op} {event.status}{_took(event.ms)}{_ran(event.result)}"


def effect_words(event: EffectDone, step: Step | None) -> str:
    """Describe the outcome of a step, with the step itself if it is known."""
    if step is None:
        return event_words(event)
    if event.status is not EffectStatus.OK:
        return f"{event_words(event)} {step_words(step)}"
    came = _said(_printed(event.result))
    return clipped(f"{event.op} ok {step_words(step)}{_took(event.ms)}{came}", MAX_WORDS)


def _history(event: HistoryChanged) -> str:
    return f"length {event.length}" + (event.why and f", {event.why}")


def _approval(event: ApprovalGiven) -> str:
    return f"{event.id} {'granted' if event.granted else 'rejected'} by {event.authority}"


def _rules(event: RulesChanged) -> str:
    named = {"enabled": event.enabled, "disabled": event.disabled}
    switches = "; ".join(f"{how} {', '.join(uids)}" for how, uids in named.items() if uids)
    return switches or f"loaded {event.digest[:12]}"


# The name of any other kind says everything.
_PAYLOADS: dict[type[Common], Callable[[Any], str]] = {
    Prompt: _text_of,
    TurnEnd: _text_of,
    AgentStop: _text_of,
    Message: _message,
    ToolBefore: _call,
    ToolAfter: _call_ended,
    File: _file,
    Bus: _bus,
    Custom: _custom,
    EffectDone: _effect,
    HistoryChanged: _history,
    ApprovalGiven: _approval,
    RulesChanged: _rules,
}


def step_words(step: Step) -> str:
    """Describe a step without its op."""
    match step:
        case MessageInsert():
            words = f"{step.role}: {_quoted(text_words(step.text))}"
        case StateSet():
            words = f"{step.name} = {_short(step.value)}"
        case Notify():
            words = f"{step.deliver_at}, {step.priority}: {_quoted(step.text)}"
        case Log():
            words = f"{step.level}: {_quoted(step.text)}"
        case ToolCall():
            words = f"{step.tool} {_short(step.args)}"
        case EventEmit():
            words = f"{step.type} {_short(step.payload)}"
        case CommandRun():
            words = shlex.join(step.argv)
        case _:
            fields = msgspec.to_builtins(step)
            words = _short({name: fields[name] for name in fields if name != "op"})
    return clipped(words, MAX_WORDS)


def text_words(text: Text) -> str:
    """Return a text, with `{name}` for each reference to an outcome."""
    pieces = text if isinstance(text, tuple) else (text,)
    return "".join(
        f"{{{piece.outcome}}}" if isinstance(piece, Outcome) else piece for piece in pieces
    )


def _quoted(text: str) -> str:
    return _short(" ".join(text[: 2 * MAX_WORDS].split())) if text else ""


def _short(value: object) -> str:
    return in_short(value, MAX_WORDS)


def _ran(result: JSON) -> str:
    """Describe the result of an effect. For a command: its command line and its output."""
    line = _command_line(result)
    return f": {line}{_said(_printed(result))}" if line else _said(result)


def _command_line(result: JSON) -> str:
    argv = result.get("argv") if isinstance(result, dict) else None
    return shlex.join(map(str, argv)) if isinstance(argv, list) else ""


def _printed(result: JSON) -> JSON:
    """Return the output or the error of a command. Other results are returned unchanged."""
    if not isinstance(result, dict) or not _command_line(result):
        return result
    error, stderr = result.get("error"), result.get("stderr")
    if not error:
        return result.get("result") or None
    return f"{error}, {stderr}" if stderr else error


def _said(value: JSON) -> str:
    return "" if value is None else f": {_short(value)}"


def _took(ms: int | None) -> str:
    return f" in {ms} ms" if ms else ""
