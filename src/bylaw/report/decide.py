"""Decide events, given as values or JSON lines, and return what `bylaw decide` prints.

An output line is {"seq", "kind", "session", "verdict", "reasons", "effects", "trace", "caused",
"state"}. `state` is optional. Entries of `caused` lack `seq` and `state`, but have the fields of
their event and its `cause`. An effect is {"op", "rule", "uid", …parameters}, numbered by its
position from 1. An effect that Bylaw refuses has "status": "refused". Effects that its plan drops
for that reason have "dropped": true. Due `on_error` steps follow at the end.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from msgspec import UNSET, to_builtins
from msgspec.structs import replace

from bylaw.model.codes.runtime import EVENT_TOO_LONG
from bylaw.model.decision import NeedName, immediate_steps
from bylaw.model.facts import WorkFacts
from bylaw.model.wire import EventError, decode_event
from bylaw.runtime.needs import NO_GATHERERS, session_state
from bylaw.runtime.submit import DryRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from msgspec import Struct

    from bylaw.engine.index import RuleSet
    from bylaw.model.decision import Need, Plan, Reason
    from bylaw.model.effects import Step
    from bylaw.model.event import Event
    from bylaw.model.values import JSON
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.submit import DryRunResult

# Enough for the longest tool result that a rule should check.
MAX_LINE_BYTES = 16 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_SKIP_BYTES = 64 * 1024


class InputLine(NamedTuple):
    """A line that is not blank, without line break, numbered from 1. None: it is too long."""

    number: int
    data: bytes | None


def read_lines(stream: BinaryIO) -> Iterator[InputLine]:
    """Yield each line as soon as it is read. Only one line is in memory at a time."""
    number = 0
    while data := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(data) > MAX_LINE_BYTES and not data.endswith(b"\n"):
            _skip_line(stream)
            yield InputLine(number, None)
            continue
        if number == 1:
            data = data.removeprefix(_BOM)
        if data.strip():
            yield InputLine(number, data.rstrip(b"\r\n"))


def _skip_line(stream: BinaryIO) -> None:
    while (piece := stream.readline(_SKIP_BYTES)) and not piece.endswith(b"\n"):
        pass


# Fields of a caused event that are not printed: it has no number, its session is printed already,
# and its facts are those of the event that caused it.
_HIDDEN_FIELDS = ("seq", "at", "session", "kind", "facts", "agent")


class EventDecider:
    """Decides events in order. Sessions are kept in memory, and no effect is performed."""

    def __init__(
        self, rules: RuleSet, *, with_state: bool = False, gatherers: Gatherers = NO_GATHERERS
    ) -> None:
        self._dry_run = DryRun(rules, {NeedName.ENTRIES: gather_no_other_entry, **gatherers})
        self._with_state = with_state

    def decide(self, event: Event) -> dict[str, JSON]:
        """Return the output line for an event. Raise EventError if it cannot be decided."""
        rehearsed = self._dry_run.submit(event)
        line = {"seq": rehearsed.event.seq, **_event_output(rehearsed)}
        if self._with_state:
            line["state"] = _to_json(session_state(self._dry_run.session(event.session)))
        return line

    def decide_line(self, line: InputLine) -> dict[str, JSON]:
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
        for line in read_lines(stream):
            yield self.decide_line(line)


def gather_no_other_entry(event: Event, need: Need) -> WorkFacts | None:
    """Gather entries: if an event has entries, treat every other entry as absent."""
    facts = event.facts
    if not isinstance(facts, WorkFacts) or facts.entries is UNSET:
        return None
    return replace(facts, entries={**facts.entries, need.key: None})


def _event_output(one: DryRunResult) -> dict[str, JSON]:
    return {"kind": one.event.kind.value, "session": one.event.session, **_decision_output(one)}


def _caused_output(one: DryRunResult) -> dict[str, JSON]:
    own = {name: value for name, value in _fields(one.event).items() if name not in _HIDDEN_FIELDS}
    return {
        "kind": one.event.kind.value,
        "session": one.event.session,
        **own,
        **_decision_output(one),
    }


def _decision_output(one: DryRunResult) -> dict[str, JSON]:
    decision = one.decision
    return {
        "verdict": decision.verdict.value,
        "reasons": [_reason(reason) for reason in decision.reasons],
        "effects": list(_effects(one)),
        "trace": [
            {"uid": line.uid, "result": line.result.value, "detail": line.detail}
            for line in decision.trace
        ],
        "caused": [_caused_output(caused) for caused in one.caused],
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


def _effects(one: DryRunResult) -> Iterator[JSON]:
    folded = immediate_steps(one.decision.plans)
    for place, (plan, steps, _) in enumerate(one.decision.numbered_plans()):
        for at, (number, step) in enumerate(steps):
            yield _effect(plan, step) | ({} if (place, at) in folded else _step_status(one, number))
    for due in one.on_error:
        yield _effect(due.plan, due.step) | _step_status(one, due.number)


def _effect(plan: Plan, step: Step) -> dict[str, JSON]:
    return {"op": step.op.value, "rule": plan.rule, "uid": plan.uid} | _fields(step)


def _step_status(one: DryRunResult, number: int) -> dict[str, JSON]:
    outcome = one.outcomes.get(number)
    if outcome is None:
        return {"dropped": True}
    return {"status": outcome.status.value} if outcome.failed else {}


def _fields(value: Struct) -> dict[str, JSON]:
    plain = to_builtins(value)
    return {name: _to_json(item) for name, item in plain.items()}


def _to_json(value: JSON | tuple[JSON, ...]) -> JSON:
    """Convert tuples to lists, and numbers that are not finite to text, as JSON needs."""
    if isinstance(value, list | tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, dict):
        return {name: _to_json(item) for name, item in value.items()}
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value
