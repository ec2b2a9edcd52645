"""Read the context of a TOML rule from session, event and slate (TR-061 to TR-066, TR-A18).

Conditions read single fields; templates and scripts read maps of fields. `ATTRIBUTES` has the code
of each field. The functions that this code calls are here. The windows of messages and calls are
plain lists, built only if a rule reads them.
"""

from __future__ import annotations

from functools import lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType

from bylaw.expr.condition_environment import ConditionView
from bylaw.expr.context_catalogue import ATTRIBUTES, FIELDS, SHAPES, TOTALS
from bylaw.expr.expression_guard import Reader
from bylaw.model.event import Prompt, ToolAfter, ToolBefore, TurnEnd
from bylaw.model.iso_time import iso_time
from bylaw.model.values import as_text
from bylaw.model.vocabulary import CallStatus, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.model.calls import Calls
    from bylaw.model.event import Event
    from bylaw.model.facts import Party
    from bylaw.model.history import History

# `.value` of an enum takes longer than the rest of a message, so this reads `_value_`.
_SAID = attrgetter("role._value_", "content")
# The error of every call that timed out; it replaces the error of the host (TR-A22).
TIMEOUT = "timeout"

# The names of events in TOML rules.
_EVENT_TYPES = {
    Kind.PROMPT: "query.start",
    Kind.TURN_START: "agent.turn.start",
    Kind.TURN_END: "agent.turn.end",
    Kind.TOOL_BEFORE: "tool.call.pending",
    Kind.SESSION_END: "session.end",
}
_CALL_TYPES = {
    CallStatus.OK: "tool.call.success",
    CallStatus.ERROR: "tool.call.failure",
    CallStatus.TIMEOUT: "tool.call.timeout",
}


def condition_reader(space: str) -> Reader:
    """Return the reader for conditions whose state is in this space of variables."""
    return Reader(ConditionView, partial(_codes, space), _NAMES)


def field_reader(space: str) -> Reader:
    """As `condition_reader`, but the reader returns a plain map of the requested fields."""
    return Reader(dict, partial(_codes, space), _NAMES)


@lru_cache(maxsize=256)
def _codes(space: str, kind: Kind) -> Mapping[str, str]:
    codes = {FIELDS[path]: one.code.format(space=space) for path, one in ATTRIBUTES.items()}
    if kind is not Kind.TOOL_AFTER:
        codes[FIELDS["result"]] = "None"  # no call has ended
    for section, shape in SHAPES.items():
        if section not in ATTRIBUTES:
            names = {name: codes[FIELDS[f"{section}.{name}"]] for name in shape.fields or ()}
            codes[section] = _map_of(names)
    context = _map_of({section: codes[section] for section in SHAPES})
    return {**codes, **TOTALS, "context": context}


def _map_of(codes: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name!r}: {code}" for name, code in codes.items()) + "}"


def share_of(tokens: int, limit: int | UnsetType) -> float | None:
    """Return the used share of a limit, not clamped; None without a limit (TR-A19)."""
    return tokens / limit if limit is not UNSET and limit else None


def messages_of(history: History) -> list[dict[str, Any]]:
    """Return the newest messages."""
    return [{"role": role, "content": text} for role, text in map(_SAID, history.messages)]


def tools_of(calls: Calls) -> list[dict[str, Any]]:
    """Return the newest calls."""
    return [
        {
            "name": use.name,
            "arguments": use.arguments,
            "result": use.result,
            "success": use.success,
            "timestamp": iso_time(use.timestamp),
        }
        for use in calls.tools
    ]


def party(found: Party | UnsetType) -> dict[str, Any]:
    """Return a user or project; the id is None if there is none."""
    if found is UNSET:
        return {"id": None, "settings": {}}
    return {"id": found.id, "settings": found.settings}


def result_of(event: ToolAfter) -> dict[str, Any]:
    """Return the result of a call."""
    ok = event.status is CallStatus.OK
    error = TIMEOUT if event.status is CallStatus.TIMEOUT else event.error
    return {
        "tool_name": event.tool,
        "success": ok,
        "result": event.result,
        "error": None if ok else error,
        "duration_ms": event.ms,
    }


def event_of(event: Event, now: int) -> dict[str, Any]:
    """Return an event with the names of this language."""
    failed = isinstance(event, ToolAfter) and event.status is not CallStatus.OK
    return {
        "type": _event_type(event),
        "source": event.actor or None,
        "severity": "error" if failed else "info",
        "payload": _payload(event),
        "timestamp": iso_time(now),
    }


def _event_type(event: Event) -> str:
    return _CALL_TYPES[event.status] if isinstance(event, ToolAfter) else _EVENT_TYPES[event.kind]


def _payload(event: Event) -> dict[str, Any]:
    match event:
        case Prompt():
            return {"query": event.text}
        case TurnEnd():
            return {"text": event.text}
        case ToolBefore():
            return {"tool_name": event.tool, "call_id": event.call, "arguments": event.args}
        case ToolAfter():
            return {"tool_name": event.tool, "call_id": event.call, **_ending(event)}
    return {}


def _ending(event: ToolAfter) -> dict[str, Any]:
    if event.status is CallStatus.OK:
        return {"result_length": len(as_text(event.result))}
    kind = TIMEOUT if event.status is CallStatus.TIMEOUT else "error"
    return {"error_type": kind, "error_message": event.error}


_NAMES = {
    one.__name__: one for one in (share_of, messages_of, tools_of, party, result_of, event_of)
}
