"""Tool calls as guards and quotas read them: counters, calls under way, the newest calls."""

from collections.abc import Mapping
from typing import Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.event import ToolAfter, ToolBefore
from bylaw.model.values import JSON, size_of
from bylaw.model.vocabulary import CallStatus
from bylaw.model.window import WINDOW_CHARS, appended

# Far more than run side by side. When a host never says how calls end, the oldest counts as
# a call, as it would at the end of its turn.
MAX_PENDING = 256

MAX_LATE_RESULT = 4_096

FAILURES = (CallStatus.ERROR, CallStatus.TIMEOUT)
NEVER_HAPPENED = (CallStatus.DENIED, CallStatus.CANCELLED)


class Tally(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Calls in the session, the turn of the last one, and how many that turn had."""

    count: int = 0
    last_turn: int = 0
    in_last_turn: int = 0

    def add(self, turn: int) -> Self:
        """One call more, in this turn."""
        in_turn = self.in_turn(turn) + 1
        return replace(self, count=self.count + 1, last_turn=turn, in_last_turn=in_turn)

    def in_turn(self, turn: int) -> int:
        """Calls in the turn that is running."""
        return self.in_last_turn if self.last_turn == turn else 0


class PendingCall(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A call that was let through and has not ended."""

    tool: str
    also: tuple[str, ...] = ()
    args: dict[str, JSON] = {}
    call: str = ""
    at: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Every name under which the call counts, each once."""
        return tuple(dict.fromkeys((self.tool, *self.also)))

    def is_of(self, event: ToolBefore | ToolAfter) -> bool:
        """By call id; a host without ids is matched by tool."""
        return self.call == event.call and (bool(self.call) or self.tool == event.tool)


class ToolUse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A call in the window; `success` is null while nobody knows how it ended."""

    name: str
    arguments: dict[str, JSON] = {}
    result: JSON = None
    success: bool | None = None
    timestamp: int = 0
    call: str = ""
    chars: int = 0
    also: tuple[str, ...] = ()

    def without_text(self) -> Self:
        """That the call took place, and how it ended."""
        return replace(self, arguments={}, result=None, chars=0)

    def awaits(self, event: ToolAfter) -> bool:
        """Counted at the end of its turn, and this says how it really ended."""
        return (
            self.success is None
            and self.call == event.call
            and (bool(self.call) or self.name == event.tool)
        )


class Calls(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All calls of the session, those of subagents included."""

    by_name: Mapping[str, Tally] = {}
    all: Tally = Tally()
    successes: Mapping[str, int] = {}
    failures: Mapping[str, int] = {}
    total_failures: int = 0
    pending: tuple[PendingCall, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    # Of the calls in the window, see `window.appended`.
    chars: int = 0

    def tally(self, name: str) -> Tally:
        """The counters of one name."""
        return self.by_name.get(name, Tally())

    def pending_of(self, name: str) -> int:
        """How many calls of this name are under way."""
        return sum(name in call.names for call in self.pending)

    def begin(self, event: ToolBefore, at: int, turn: int) -> Self:
        """A call is under way until its `tool.after`."""
        args = event.args if size_of(event.args) <= WINDOW_CHARS else {}
        call = PendingCall(tool=event.tool, also=event.also, args=args, call=event.call, at=at)
        # A host that announces a call twice, under one id, still makes one call.
        announced = bool(call.call) and any(
            (old.call, old.tool) == (call.call, call.tool) for old in self.pending
        )
        if announced:
            return self
        before = _count_oldest(self, turn) if len(self.pending) == MAX_PENDING else self
        return replace(before, pending=(*before.pending, call))

    def drop(self, event: ToolBefore | ToolAfter) -> Self:
        """The call is no longer under way."""
        for place, call in enumerate(self.pending):
            if call.is_of(event):
                return replace(self, pending=self.pending[:place] + self.pending[place + 1 :])
        return self

    def end(self, event: ToolAfter, at: int, turn: int) -> Self:
        """A call has ended: count it, unless it never happened or was counted before."""
        begun = next((call for call in self.pending if call.is_of(event)), None)
        if event.status in NEVER_HAPPENED:
            return self.drop(event)
        if begun is None:
            place = next((n for n, use in enumerate(self.tools) if use.awaits(event)), None)
            if place is not None:
                return _fill_in(self, place, event)
            begun = PendingCall(tool=event.tool)
        names = tuple(dict.fromkeys((*begun.names, event.tool, *event.also)))
        use = ToolUse(
            name=event.tool,
            arguments=event.args or begun.args,
            result=event.result,
            success=event.status is CallStatus.OK,
            timestamp=at,
            call=event.call,
            chars=size_of(event.args or begun.args) + size_of(event.result),
        )
        return _count_ending(_count(self.drop(event), names, use, turn), event, names)

    def has_ended(self, event: ToolAfter) -> bool:
        """Whether it was told before how this very call ended; a call ends once (TR-037)."""
        if not event.call or any(call.is_of(event) for call in self.pending):
            return False
        return any(
            (use.call, use.name) == (event.call, event.tool) and use.success is not None
            for use in reversed(self.tools)
        )

    def end_turn(self, turn: int) -> Self:
        """What is still under way when its turn ends counts as a call."""
        calls = self
        while calls.pending:
            calls = _count_oldest(calls, turn)
        return calls


_Calls = TypeVar("_Calls", bound=Calls)


def _count_oldest(calls: _Calls, turn: int) -> _Calls:
    call = calls.pending[0]
    use = ToolUse(
        name=call.tool,
        arguments=call.args,
        timestamp=call.at,
        call=call.call,
        chars=size_of(call.args),
        also=call.also,
    )
    return _count(replace(calls, pending=calls.pending[1:]), call.names, use, turn)


def _count(calls: _Calls, names: tuple[str, ...], use: ToolUse, turn: int) -> _Calls:
    counted = {name: calls.tally(name).add(turn) for name in names}
    tools, chars = appended(calls.tools, calls.chars, use)
    return replace(
        calls,
        by_name={**calls.by_name, **counted},
        all=calls.all.add(turn),
        tools=tools,
        chars=chars,
    )


def _count_ending(calls: _Calls, event: ToolAfter, names: tuple[str, ...]) -> _Calls:
    if event.status not in FAILURES:
        return replace(calls, successes=_one_more(calls.successes, names))
    total = calls.total_failures + 1
    return replace(calls, failures=_one_more(calls.failures, names), total_failures=total)


def _one_more(counts: Mapping[str, int], names: tuple[str, ...]) -> dict[str, int]:
    return {**counts, **{name: counts.get(name, 0) + 1 for name in names}}


def _fill_in(calls: _Calls, place: int, event: ToolAfter) -> _Calls:
    success = event.status is CallStatus.OK
    # The room for it was counted when the call was: a large result is not kept.
    result = event.result if size_of(event.result) <= MAX_LATE_RESULT else None
    ended = replace(calls.tools[place], result=result, success=success)
    tools = (*calls.tools[:place], ended, *calls.tools[place + 1 :])
    names = (ended.name, *ended.also, event.tool, *event.also)
    return _count_ending(replace(calls, tools=tools), event, names)
