"""Compiled expressions as guards of rules, and the readers that fill in their views.

A reader has Python code for each field of a language's view, over `s` (the session), `e` (the
event), `l` (the slate) and `n` (the time). The slow path builds the view with that code. The fast
path assigns the same code to local variables.

ChatMD guards read session, event and slate (CM-047 to CM-067), and so does the context of TOML
rules (TR-061 to TR-066, TR-A18). Conditions read single fields; templates and scripts read maps of
fields.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from msgspec import UNSET, Struct, UnsetType, field

from bylaw.expr.condition_environment import ATTRIBUTES, FIELDS, SHAPES, TOTALS, ConditionView
from bylaw.expr.guard_environment import GuardView
from bylaw.model.decision import Match
from bylaw.model.display import iso_time
from bylaw.model.event import Prompt, ToolAfter, ToolBefore, TurnEnd
from bylaw.model.values import as_text
from bylaw.model.vocabulary import CallStatus, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bylaw.expr.expression import Expression
    from bylaw.expr.template.check import Path
    from bylaw.model.calls import Calls
    from bylaw.model.event import Event
    from bylaw.model.facts import Principal
    from bylaw.model.history import History
    from bylaw.model.rule import View
    from bylaw.model.session import FiringCount

_MATCHED = Match()


class ViewReader(Struct, frozen=True):
    """The code of each field of a view, for each kind of event."""

    view: Callable[..., object]
    codes: Callable[[Kind], Mapping[str, str]]
    names: Mapping[str, Any] = field(default_factory=dict)
    _built: dict[tuple[Kind, frozenset[str]], Callable[..., object]] = field(default_factory=dict)

    def mentioned(self, code: str, view: str, kind: Kind) -> dict[str, str]:
        """Return the fields that a code reads, with their code; `view` is the prefix of fields."""
        codes = self.codes(kind)
        # A literal that looks like a field only adds a field, which is harmless.
        names = set(re.findall(rf"\b{re.escape(view)}(\w+)", code))
        return {name: codes[name] for name in sorted(names & codes.keys())}

    def read(self, view: View, fields: frozenset[str]) -> object:
        """Return the view with these fields filled in."""
        kind = view.event.kind
        build = self._built.get((kind, fields))
        if build is None:
            build = self._built[kind, fields] = self._compile(kind, fields)
        return build(view.session, view.event, view.slate, view.now)

    def _compile(self, kind: Kind, fields: frozenset[str]) -> Callable[..., object]:
        codes = self.codes(kind)
        given = ", ".join(f"{name}={codes[name]}" for name in sorted(fields))
        namespace = {"__builtins__": {}, "make": self.view, **self.names}
        exec(f"def build(s, e, l, n):\n    return make({given})\n", namespace)  # noqa: S102 - our own table
        return cast("Callable[..., object]", namespace["build"])


@runtime_checkable
class HasConditions(Protocol):
    """A check of a language that uses expressions, so that their values can be shown."""

    @property
    def conditions(self) -> tuple[ExpressionGuard, ...]:
        """The expressions, in order."""


class ExpressionGuard(Struct, frozen=True, dict=True):
    """A guard that holds for an event if its expression is true for the event's view."""

    expression: Expression
    reader: ViewReader

    @cached_property
    def fields(self) -> frozenset[str]:
        """The fields of the view that it reads."""
        from bylaw.model.vocabulary import Kind  # noqa: PLC0415 - used only here, to list fields

        return frozenset(self.reader.mentioned(self.expression.code, "v.", Kind.TOOL_BEFORE))

    def test(self, view: View) -> Match | None:
        """Return a match without values, or None; raise GuardError if the evaluation fails."""
        return _MATCHED if self.expression.test(self.reader.read(view, self.fields)) else None

    def value(self, view: View) -> Any:
        """Return the value of an expression that is not a guard, or raise GuardError."""
        return self.expression.evaluate(self.reader.read(view, self.fields))


_EVENT_NAMES = {
    Kind.TURN_START: "turn_start",
    Kind.TURN_END: "turn_end",
    Kind.TOOL_BEFORE: "pre_tool_call",
    Kind.TOOL_AFTER: "post_tool_response",
    Kind.MESSAGE: "message_appended",
}
_COMMON_CODES = {
    "turn_index": "s.turns.completed + 1",
    "context_tokens": "s.history.tokens",
    "history_length": "s.history.length",
    "last_role": "s.history.last_role",
    "calls": "s.calls.by_name",
    "last_user": "(s.history.last_user or None)",
    "last_assistant": "(s.history.last_assistant or None)",
    "last_tool": "(s.history.last_tool or None)",
    "now": "n",
}
_NO_CALL = {"tool_name": "None", "tool_args": "None", "tool_status": "None"}
_CALL_BEFORE = {"tool_name": "e.tool", "tool_args": "e.args", "tool_status": "None"}
# CM-A35: for a guard, a time-out is an error.
_CALL_AFTER = {**_CALL_BEFORE, "tool_status": "('ok' if e.status == 'ok' else 'error')"}


class LastFirings:
    """The times of the last firings of the rules of one file, by id."""

    __slots__ = ("_firings", "_prefix")

    def __init__(self, firings: Mapping[str, FiringCount], prefix: str) -> None:
        self._firings = firings
        self._prefix = prefix

    def get(self, rule_id: str) -> int | None:
        """Return the time in milliseconds, or None if the rule never fired."""
        firing = self._firings.get(self._prefix + rule_id)
        return None if firing is None else firing.at


def guard_reader(space: str, uid_prefix: str) -> ViewReader:
    """Return the reader for the guards of one file: its variables, and the prefix of its uids."""
    codes = partial(_guard_codes, space, uid_prefix)
    return ViewReader(GuardView, codes, {"FiredAt": LastFirings})


def _guard_codes(space: str, uid_prefix: str, kind: Kind) -> Mapping[str, str]:
    call = {Kind.TOOL_BEFORE: _CALL_BEFORE, Kind.TOOL_AFTER: _CALL_AFTER}.get(kind, _NO_CALL)
    return {
        **_COMMON_CODES,
        **call,
        "event_name": repr(_EVENT_NAMES.get(kind)),
        "variables": f"l.space({space!r})",
        "fired_at": f"FiredAt(s.firings, {uid_prefix!r})",
    }


# `.value` of an enum takes longer than the rest of a message, so this reads `_value_`.
_MESSAGE_FIELDS = attrgetter("role._value_", "content")
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


def condition_reader(space: str) -> ViewReader:
    """Return the reader for conditions whose state is in this space of variables."""
    return ViewReader(ConditionView, partial(_condition_codes, space), _NAMES)


def field_reader(space: str) -> ViewReader:
    """As `condition_reader`, but the reader returns a plain map of the requested fields."""
    return ViewReader(dict, partial(_condition_codes, space), _NAMES)


@lru_cache(maxsize=256)
def _condition_codes(space: str, kind: Kind) -> Mapping[str, str]:
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
    return [
        {"role": role, "content": text} for role, text in map(_MESSAGE_FIELDS, history.messages)
    ]


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


def party(found: Principal | UnsetType) -> dict[str, Any]:
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
            return {"tool_name": event.tool, "call_id": event.call, **_result_payload(event)}
    return {}


def _result_payload(event: ToolAfter) -> dict[str, Any]:
    if event.status is CallStatus.OK:
        return {"result_length": len(as_text(event.result))}
    kind = TIMEOUT if event.status is CallStatus.TIMEOUT else "error"
    return {"error_type": kind, "error_message": event.error}


_NAMES = {
    one.__name__: one for one in (share_of, messages_of, tools_of, party, result_of, event_of)
}


CONTEXT = "context"
_cached_reader = lru_cache(maxsize=64)(field_reader)


class ContextValues(Struct, frozen=True):
    """Reads some paths of the context, such as `turn.number`."""

    paths: frozenset[str]
    reader: ViewReader

    def read(self, view: View) -> dict[str, Any]:
        """Return the values, nested by path."""
        values: Any = self.reader.read(view, frozenset(FIELDS[path] for path in self.paths))
        context: dict[str, Any] = {}
        for path in sorted(self.paths):
            section, _, name = path.partition(".")
            if name:
                context.setdefault(section, {})[name] = values[FIELDS[path]]
            else:
                context[section] = values[FIELDS[path]]
        return context


def context_values(space: str, reads: Iterable[Path]) -> ContextValues:
    """Return the reader of these paths, with the state in a space; `("context",)` reads all."""
    wanted = frozenset(path for read in reads for path in _paths_of(read))
    return ContextValues(wanted, _cached_reader(space))


def _paths_of(read: Path) -> Iterator[str]:
    if read[0] != CONTEXT:
        return  # a loop variable
    sections = SHAPES if read[1:2] not in [(name,) for name in SHAPES] else [str(read[1])]
    for section in sections:
        names = [path for path in ATTRIBUTES if path.startswith(f"{section}.")]
        exact = f"{section}.{read[2]}" if len(read) > len((CONTEXT, section)) else ""
        if not names:
            yield section
        else:
            yield from [exact] if exact in names else names
