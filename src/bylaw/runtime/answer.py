"""What a host gets: the answer to an event, events about steps, and how a stop ends.

If the journal cannot be written, gates deny. The same violation blocks a stop only a limited number
of times, each violation counted on its own. After that it is released with a warning to the person,
and that is recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.engine.plan import DueStep, PlanEnd, StepOutcome, caused_by_rules, caused_event, chain
from bylaw.model.decision import Decision, Reason
from bylaw.model.display import clip_text, in_backticks, list_limited, visible
from bylaw.model.effects import HistoryCompact, OutcomePart
from bylaw.model.event import AgentStop, EffectDone, HistoryChanged, ToolAfter, ToolBefore
from bylaw.model.rule import built_in_uid
from bylaw.model.session import UNANSWERED, blocks_stop, release_record, violations
from bylaw.model.values import as_text
from bylaw.model.vocabulary import CallStatus, EffectStatus, Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bylaw.model.event import Event
    from bylaw.model.session import BlockedStop
    from bylaw.store.journal.errors import JournalError
    from bylaw.store.journal.journal import Journal

JOURNAL_RULE = "journal"
JOURNAL_UID = built_in_uid("bylaw", JOURNAL_RULE)
# Events that a decision can still prevent; all others have already happened.
GATES = frozenset(
    {
        *(Kind.PROMPT, Kind.TURN_START, Kind.TOOL_BEFORE),
        *(Kind.TURN_END, Kind.AGENT_STOP, Kind.BUS),
    }
)


def unrecorded_decision(event: Event, problem: JournalError) -> Decision:
    """Deny at a gate, warn otherwise; the reason says what to do about the journal."""
    verdict = Verdict.DENY if event.kind in GATES else Verdict.WARN
    reason = Reason(
        rule=JOURNAL_RULE,
        uid=JOURNAL_UID,
        file="",
        line=0,
        verdict=verdict,
        text=f"not recorded: {problem.message}",
    )
    return Decision(verdict=verdict, reasons=(reason,))


class Answer(Struct):
    """An event as it was recorded, its decision, the results of its steps, and what it caused.

    `verdict` and `deciding` are what the host answers with. They come from the round with the
    stronger verdict. If both are equal, from the second round, which knows what commands did.
    `problem` says why nothing could be recorded; it is empty otherwise.
    """

    event: Event
    decision: Decision
    outcomes: dict[int, StepOutcome] = field(default_factory=dict)
    ending: PlanEnd = field(default_factory=PlanEnd)
    caused: list[Answer] = field(default_factory=list)
    again: Answer | None = None
    problem: str = ""

    @property
    def verdict(self) -> Verdict:
        """The strongest verdict of both rounds; halt if a plan failed that must not fail."""
        return max(self._own_verdict, self.again.verdict) if self.again else self._own_verdict

    @property
    def deciding(self) -> Decision:
        """The decision of the round whose verdict applies."""
        if self.again and self.again.verdict >= self._own_verdict:
            return self.again.deciding
        return self.decision

    @property
    def _own_verdict(self) -> Verdict:
        return Verdict.HALT if self.ending.halted else self.decision.verdict

    def steps(self) -> Iterator[tuple[DueStep, StepOutcome]]:
        """Yield every performed step with its result, those of the second round last."""
        for number, plan, step in self.decision.numbered_steps():
            if number in self.outcomes:
                yield DueStep(number, plan, step), self.outcomes[number]
        if self.again:
            yield from self.again.steps()


def unrecorded_answer(event: Event, problem: JournalError) -> Answer:
    """Return the answer if the journal fails: a gate denies, and the reason says what to do."""
    return Answer(event, unrecorded_decision(event, problem), problem=problem.message)


def event_of_step(answer: Answer, due: DueStep, outcome: StepOutcome) -> Event | None:
    """Return the event that a performed step causes."""
    if outcome.failed:
        return None
    if isinstance(due.step, HistoryCompact):
        return _history_event(answer.event, due, outcome)
    return caused_event(answer.event, due)


def _history_event(event: Event, due: DueStep, outcome: StepOutcome) -> HistoryChanged | None:
    """Return the event about the history after a compaction, if the host reports its size."""
    said = outcome.result if isinstance(outcome.result, dict) else {}
    length, tokens = said.get("length"), said.get("tokens")
    if not isinstance(length, int) or not isinstance(tokens, int):
        return None
    changed = HistoryChanged(length=length, tokens=tokens, why="compaction")
    return caused_by_rules(changed, event, due.plan.uid)


_CALL_STATUS = {
    EffectStatus.OK: CallStatus.OK,
    EffectStatus.TIMEOUT: CallStatus.TIMEOUT,
    EffectStatus.NOT_CARRIED_OUT: CallStatus.CANCELLED,
}


def call_end_event(before: Event, outcome: StepOutcome, ms: int) -> ToolAfter:
    """Return the event for the end of a rule's call."""
    assert isinstance(before, ToolBefore)
    return ToolAfter(
        session=before.session,
        agent=before.agent,
        cause=before.cause,
        facts=before.facts,
        tool=before.tool,
        also=before.also,
        args=before.args,
        call=before.call,
        status=_CALL_STATUS.get(outcome.status, CallStatus.ERROR),
        result=outcome.says(OutcomePart.RESULT),
        error=as_text(outcome.says(OutcomePart.ERROR)) if outcome.failed else "",
        ms=ms,
    )


def refused_call_event(answer: Answer) -> ToolAfter | None:
    """Return the event that ends a pending call that is not made after all.

    A denied call is never pending. A call that a person would have to allow is, because some hosts
    ask; so is a call that a failed plan halts.
    """
    rounds = filter(None, (answer, answer.again))
    if any(one.decision.verdict >= Verdict.DENY for one in rounds):
        return None
    refused = StepOutcome(EffectStatus.REFUSED, {"error": denial_text(answer)})
    return replace(call_end_event(answer.event, refused, 0), status=CallStatus.DENIED)


def denial_text(answer: Answer) -> str:
    """Return the error of a step whose call was denied."""
    reasons = "; ".join(reason.text for reason in answer.deciding.reasons)
    return f"the call was denied: {reasons}"


def effect_event(event: Event, due: DueStep, outcome: StepOutcome, ms: int) -> EffectDone:
    """Return the event that records the result of a step."""
    return EffectDone(
        session=event.session,
        agent=event.agent,
        cause=chain(event, due.plan.uid),
        of=event.seq,
        step=due.number,
        op=due.step.op,
        status=outcome.status,
        result=outcome.result,
        ms=ms,
    )


# Also limit blocks in a row, for a violation that differs each time.
MAX_IN_A_ROW = 50
MAX_NAMED = 5  # rules in a warning
MAX_NAME = 80  # characters


class BlocksBefore(NamedTuple):
    """Blocks since the last prompt of a person: by Bylaw in a row, and by other hooks before."""

    in_a_row: int = 0
    of_others: int = 0


class StopAnswer(Struct, frozen=True):
    """How a host handles a stop: `blocks` it or allows it, then records `release_records`.

    Some violations may be released while others block. `decision` has no reasons of the released
    ones, `let_through` names their rules by uid, `warnings` are the messages to the person.
    """

    decision: Decision
    blocks: bool = False
    release_records: tuple[EffectDone, ...] = ()
    let_through: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


def decide_stop(
    answer: Answer, journal: Journal, max_blocks: int, blocks_before: BlocksBefore
) -> StopAnswer:
    """Decide whether a stop is blocked, given the number of blocks before it."""
    last = answer.again or answer
    event, decision = last.event, last.decision
    assert isinstance(event, AgentStop)
    if not blocks_stop(decision) or answer.problem:
        return StopAnswer(decision, blocks=blocks_stop(decision))
    blocked = journal.session(event.session).blocked
    found = violations(event, decision)
    over = dict(_violations_to_release(map(blocked.find, found), max_blocks, blocks_before))
    blocks = len(over) < len(found)
    gone = [reason for digest in over for reason in found[digest]]
    # While other violations block stop after stop, warn the person only once.
    news = {one: n for one, n in over.items() if not (blocks and blocked.find(one).let_through)}
    return StopAnswer(
        replace(decision, reasons=tuple(one for one in decision.reasons if one not in gone)),
        blocks=blocks,
        release_records=tuple(release_record(event, digests, n) for n, digests in _by_blocks(over)),
        let_through=frozenset(reason.uid for reason in gone),
        warnings=tuple(
            release_warning([reason for one in digests for reason in found[one]], n)
            for n, digests in _by_blocks(news)
        ),
    )


def _violations_to_release(
    known: Iterable[BlockedStop], max_blocks: int, blocks_before: BlocksBefore
) -> Iterator[tuple[str, int]]:
    """Yield the violations that no longer block, each with its number of blocks.

    Blocks by other hooks count only for violations that Bylaw has already reported to the agent,
    and are not part of that number.
    """
    for stop in known:
        # The session already counts this stop; if the violation is released, that is undone.
        before = stop.times - 1
        of_others = blocks_before.of_others if before else 0
        if before + of_others >= max_blocks:
            yield stop.digest, before
        elif blocks_before.in_a_row >= MAX_IN_A_ROW:
            yield stop.digest, blocks_before.in_a_row


def _by_blocks(over: Mapping[str, int]) -> list[tuple[int, list[str]]]:
    counts = sorted(set(over.values()))
    return [(n, [one for one, times in over.items() if times == n]) for n in counts]


def release_warning(reasons: Iterable[Reason], blocks: int) -> str:
    """Return the warning for a person about rules that no longer block, the same in all hosts."""
    rules = [clip_text(visible(one), MAX_NAME) for one in dict.fromkeys(r.rule for r in reasons)]
    named = list_limited(rules, MAX_NAMED, in_backticks)
    times = "1 block" if blocks == 1 else f"{blocks} blocks"
    return f"released after {times}: {named}; recorded as {UNANSWERED}"
