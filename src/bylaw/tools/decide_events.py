"""Decide events, given as values or JSON lines, and return what `bylaw decide` prints.

A line of output is

    {"seq", "kind", "session", "verdict", "reasons", "effects", "trace", "caused", "state"}

`state` is optional. An entry of `caused` has the same fields without `seq` and `state`. It also has
the fields of its event and the `cause`, because that event was not in the input. An effect is
`{"op", "rule", "uid", …parameters}`. Its position, counted from 1, is its number in `effect`
events. An effect that Bylaw itself refuses has `"status": "refused"`. Effects that its plan drops
for that reason have `"dropped": true`. Due `on_error` steps follow at the end.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from msgspec import UNSET, to_builtins
from msgspec.structs import replace

from bylaw.model.codes.events import EVENT_TOO_LONG
from bylaw.model.decision import NeedName, at_once
from bylaw.model.facts import WorkFacts
from bylaw.model.wire import EventError, decode_event
from bylaw.runtime.needs import NO_GATHERERS
from bylaw.runtime.rehearsal import Rehearsal
from bylaw.runtime.session_state import session_state
from bylaw.tools.event_lines import MAX_LINE_BYTES, event_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from msgspec import Struct

    from bylaw.engine.index import RuleSet
    from bylaw.model.decision import Need, Plan, Reason
    from bylaw.model.effects import Step
    from bylaw.model.event import Event
    from bylaw.model.values import JSON
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.rehearsal import Rehearsed
    from bylaw.tools.event_lines import Line

# Fields of a caused event that are not printed: it has no number, its session is printed already,
# and its facts are those of the event that caused it.
_NOT_SHOWN = ("seq", "at", "session", "kind", "facts", "agent")


class EventDecider:
    """Decides events in order. Sessions are kept in memory, and no effect is performed."""

    def __init__(
        self, rules: RuleSet, *, with_state: bool = False, gatherers: Gatherers = NO_GATHERERS
    ) -> None:
        self._rehearsal = Rehearsal(rules, {NeedName.ENTRIES: no_other_entry, **gatherers})
        self._with_state = with_state

    def decide(self, event: Event) -> dict[str, JSON]:
        """Return the output line for an event. Raise EventError if it cannot be decided."""
        rehearsed = self._rehearsal.submit(event)
        line = {"seq": rehearsed.event.seq, **_shown(rehearsed)}
        if self._with_state:
            line["state"] = _listed(session_state(self._rehearsal.session(event.session)))
        return line

    def decide_line(self, line: Line) -> dict[str, JSON]:
        """Return the output for an input line: `{"error": …}` if it is not a valid event."""
        try:
            if line.data is None:
                message = f"the line is longer than {MAX_LINE_BYTES:,} bytes"
                raise EventError(EVENT_TOO_LONG.name, message)  # noqa: TRY301 - reported like any other
            return self.decide(decode_event(line.data))
        except EventError as wrong:
            return {"error": {"code": wrong.code, "message": wrong.message, "line": line.number}}

    def decide_stream(self, stream: BinaryIO) -> Iterator[dict[str, JSON]]:
        """Yield an output line for each input line that is not blank, as soon as it is read."""
        for line in event_lines(stream):
            yield self.decide_line(line)


def no_other_entry(event: Event, need: Need) -> WorkFacts | None:
    """Gather entries: if an event has entries, treat every other entry as absent."""
    facts = event.facts
    if not isinstance(facts, WorkFacts) or facts.entries is UNSET:
        return None
    return replace(facts, entries={**facts.entries, need.key: None})


def _shown(one: Rehearsed) -> dict[str, JSON]:
    return {"kind": one.event.kind.value, "session": one.event.session, **_decided(one)}


def _caused(one: Rehearsed) -> dict[str, JSON]:
    own = {name: value for name, value in _fields(one.event).items() if name not in _NOT_SHOWN}
    return {"kind": one.event.kind.value, "session": one.event.session, **own, **_decided(one)}


def _decided(one: Rehearsed) -> dict[str, JSON]:
    decision = one.decision
    return {
        "verdict": decision.verdict.value,
        "reasons": [_reason(reason) for reason in decision.reasons],
        "effects": list(_effects(one)),
        "trace": [
            {"uid": line.uid, "result": line.result.value, "detail": line.detail}
            for line in decision.trace
        ],
        "caused": [_caused(caused) for caused in one.caused],
    }


def _reason(reason: Reason) -> dict[str, JSON]:
    return {
        "rule": reason.rule,
        "uid": reason.uid,
        "file": reason.file,
        "line": reason.line,
        "verdict": reason.verdict.value,
        "text": reason.text,
    }


def _effects(one: Rehearsed) -> Iterator[JSON]:
    folded = at_once(one.decision.plans)
    for place, (plan, steps, _) in enumerate(one.decision.numbered_plans()):
        for at, (number, step) in enumerate(steps):
            yield _effect(plan, step) | ({} if (place, at) in folded else _fate(one, number))
    for due in one.on_error:
        yield _effect(due.plan, due.step) | _fate(one, due.number)


def _effect(plan: Plan, step: Step) -> dict[str, JSON]:
    return {"op": step.op.value, "rule": plan.rule, "uid": plan.uid} | _fields(step)


def _fate(one: Rehearsed, number: int) -> dict[str, JSON]:
    outcome = one.outcomes.get(number)
    if outcome is None:
        return {"dropped": True}
    return {"status": outcome.status.value} if outcome.failed else {}


def _fields(value: Struct) -> dict[str, JSON]:
    plain = to_builtins(value)
    return {name: _listed(item) for name, item in plain.items()}


def _listed(value: JSON | tuple[JSON, ...]) -> JSON:
    """Convert tuples to lists, and numbers that are not finite to text, as JSON needs."""
    if isinstance(value, list | tuple):
        return [_listed(item) for item in value]
    if isinstance(value, dict):
        return {name: _listed(item) for name, item in value.items()}
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value
