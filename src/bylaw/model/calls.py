"""Tool calls and notices as a session keeps them.

Calls: counters, running calls and the newest calls, for guards and quotas. Notices: texts that wait
until they are due. Undelivered notices wait again.
"""

from collections.abc import Mapping
from typing import Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.effects import Notify
from bylaw.model.event import EffectDone, ToolAfter, ToolBefore
from bylaw.model.history import WINDOW_CHARS, append_item
from bylaw.model.values import JSON, size_of
from bylaw.model.vocabulary import CallStatus, Category, DeliverAt, EffectStatus, Priority

# Far more than run in parallel. If a host never reports how calls end, the oldest is counted, as at
# the end of its turn.
MAX_PENDING = 256

MAX_LATE_RESULT = 4_096

FAILURES = (CallStatus.ERROR, CallStatus.TIMEOUT)
NEVER_HAPPENED = (CallStatus.DENIED, CallStatus.CANCELLED)


class CallTotals(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The calls in the session, the turn of the last one, and the number of calls in that turn."""

    count: int = 0
    last_turn: int = 0
    in_last_turn: int = 0

    def add(self, turn: int) -> Self:
        """Count one call in this turn."""
        in_turn = self.in_turn(turn) + 1
        return replace(self, count=self.count + 1, last_turn=turn, in_last_turn=in_turn)

    def in_turn(self, turn: int) -> int:
        """The number of calls in this turn."""
        return self.in_last_turn if self.last_turn == turn else 0


class PendingCall(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A call that was allowed and has not ended."""

    tool: str
    also: tuple[str, ...] = ()
    args: dict[str, JSON] = {}
    call: str = ""
    at: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Every name under which the call is counted, each once."""
        return tuple(dict.fromkeys((self.tool, *self.also)))

    def is_of(self, event: ToolBefore | ToolAfter) -> bool:
        """Whether an event is about this call: by call id, or by tool if the host has no ids."""
        return self.call == event.call and (bool(self.call) or self.tool == event.tool)


class ToolUse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A call in the window. `success` is null while its outcome is unknown."""

    name: str
    arguments: dict[str, JSON] = {}
    result: JSON = None
    success: bool | None = None
    timestamp: int = 0
    call: str = ""
    chars: int = 0
    also: tuple[str, ...] = ()

    def without_text(self) -> Self:
        """The same call without arguments and result."""
        return replace(self, arguments={}, result=None, chars=0)

    def is_ended_by(self, event: ToolAfter) -> bool:
        """Whether the call was counted at the end of its turn, and this event is its real end."""
        return (
            self.success is None
            and self.call == event.call
            and (bool(self.call) or self.name == event.tool)
        )


class Calls(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All calls of the session, including those of subagents."""

    by_name: Mapping[str, CallTotals] = {}
    all: CallTotals = CallTotals()
    successes: Mapping[str, int] = {}
    failures: Mapping[str, int] = {}
    total_failures: int = 0
    pending: tuple[PendingCall, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    # Characters of the calls in the window, see `append_item`.
    chars: int = 0

    def tally(self, name: str) -> CallTotals:
        """Return the counters of one name."""
        return self.by_name.get(name, CallTotals())

    def count_pending(self, name: str) -> int:
        """Return the number of running calls of this name."""
        return sum(name in call.names for call in self.pending)

    def begin(self, event: ToolBefore, at: int, turn: int) -> Self:
        """Add a running call. It runs until its `tool.after`."""
        args = event.args if size_of(event.args) <= WINDOW_CHARS else {}
        call = PendingCall(tool=event.tool, also=event.also, args=args, call=event.call, at=at)
        # A call that a host announces twice, under one id, is one call.
        announced = bool(call.call) and any(
            (old.call, old.tool) == (call.call, call.tool) for old in self.pending
        )
        if announced:
            return self
        before = _count_oldest(self, turn) if len(self.pending) == MAX_PENDING else self
        return replace(before, pending=(*before.pending, call))

    def drop(self, event: ToolBefore | ToolAfter) -> Self:
        """Remove a running call."""
        for place, call in enumerate(self.pending):
            if call.is_of(event):
                return replace(self, pending=self.pending[:place] + self.pending[place + 1 :])
        return self

    def end(self, event: ToolAfter, at: int, turn: int) -> Self:
        """Count a call that has ended, unless it never ran or was counted before."""
        begun = next((call for call in self.pending if call.is_of(event)), None)
        if event.status in NEVER_HAPPENED:
            return self.drop(event)
        if begun is None:
            place = next((n for n, use in enumerate(self.tools) if use.is_ended_by(event)), None)
            if place is not None:
                return _add_late_result(self, place, event)
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
        """Whether the end of this call was already reported. A call ends once (TR-037)."""
        if not event.call or any(call.is_of(event) for call in self.pending):
            return False
        return any(
            (use.call, use.name) == (event.call, event.tool) and use.success is not None
            for use in reversed(self.tools)
        )

    def end_turn(self, turn: int) -> Self:
        """Count all calls that still run when their turn ends."""
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
    tools, chars = append_item(calls.tools, calls.chars, use)
    return replace(
        calls,
        by_name={**calls.by_name, **counted},
        all=calls.all.add(turn),
        tools=tools,
        chars=chars,
    )


def _count_ending(calls: _Calls, event: ToolAfter, names: tuple[str, ...]) -> _Calls:
    if event.status not in FAILURES:
        return replace(calls, successes=_increment(calls.successes, names))
    total = calls.total_failures + 1
    return replace(calls, failures=_increment(calls.failures, names), total_failures=total)


def _increment(counts: Mapping[str, int], names: tuple[str, ...]) -> dict[str, int]:
    return {**counts, **{name: counts.get(name, 0) + 1 for name in names}}


def _add_late_result(calls: _Calls, place: int, event: ToolAfter) -> _Calls:
    success = event.status is CallStatus.OK
    # The size was fixed when the call was counted, so a large result is not kept.
    result = event.result if size_of(event.result) <= MAX_LATE_RESULT else None
    ended = replace(calls.tools[place], result=result, success=success)
    tools = (*calls.tools[:place], ended, *calls.tools[place + 1 :])
    names = (ended.name, *ended.also, event.tool, *event.also)
    return _count_ending(replace(calls, tools=tools), event, names)


# Bounded, because a host may never report outcomes.
MAX_SENT = 200
# More would not be read at once. The oldest are dropped, and `lost` counts them.
MAX_WAITING = 1_000

UNDELIVERED = frozenset(EffectStatus) - {EffectStatus.OK}


class Notice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text with the rule that wrote it, numbered from 1 in the order of firing."""

    number: int
    uid: str
    rule: str
    text: str
    category: Category
    priority: Priority
    deliver_at: DeliverAt


class SentNotice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A notice that was sent with step `step` of the decision on event `of`."""

    notice: Notice
    of: int
    step: int


class Notices(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How many were made and lost, which ones wait, and which were sent with unknown outcome."""

    made: int = 0
    lost: int = 0
    waiting: tuple[Notice, ...] = ()
    sent: tuple[SentNotice, ...] = ()

    def put(self, step: Notify, uid: str, rule: str) -> Self:
        """Add a notice."""
        notice = Notice(
            number=self.made + 1,
            uid=uid,
            rule=rule,
            text=step.text,
            category=step.category,
            priority=step.priority,
            deliver_at=step.deliver_at,
        )
        waiting = (*self.waiting, notice)
        lost = max(len(waiting) - MAX_WAITING, 0)
        return replace(self, made=notice.number, lost=self.lost + lost, waiting=waiting[lost:])

    def send(self, number: int, of: int, step: int) -> Self:
        """Move a waiting notice to those that were sent."""
        sent = tuple(
            SentNotice(notice=notice, of=of, step=step)
            for notice in self.waiting
            if notice.number == number
        )
        waiting = tuple(notice for notice in self.waiting if notice.number != number)
        return replace(self, waiting=waiting, sent=(*self.sent, *sent)[-MAX_SENT:])

    def settle(self, effect: EffectDone) -> Self:
        """Apply the outcome of a delivery. A notice that did not arrive waits again."""
        place = (effect.of, effect.step)
        settled = [sent for sent in self.sent if (sent.of, sent.step) == place]
        if not settled:
            return self
        back = [sent.notice for sent in settled if effect.status in UNDELIVERED]
        return replace(
            self,
            waiting=tuple(sorted((*self.waiting, *back), key=lambda notice: notice.number)),
            sent=tuple(sent for sent in self.sent if (sent.of, sent.step) != place),
        )
