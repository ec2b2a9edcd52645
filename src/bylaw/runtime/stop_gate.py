"""An answer to `agent.stop` → whether the agent goes on, or is let go although something is wrong.

A gate that nobody can pass would keep an agent busy for ever. So an unchanged violation blocks a
stop only so often, whatever becomes of others; then it is let through with a warning to the person,
and that is recorded. A stop ends when no violation is left that blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.event import AgentStop
from bylaw.model.stops import UNANSWERED, blocks_stop, released, violations
from bylaw.model.visible import clipped, in_ticks, listed, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bylaw.model.decision import Decision, Reason
    from bylaw.model.event import EffectDone
    from bylaw.model.stops import BlockedStop
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.journal.store import Journal


# A violation that is another one each time must come to an end, too.
MAX_IN_A_ROW = 50
MAX_NAMED = 5  # rules in a warning
MAX_NAME = 80  # characters


class BlocksBefore(NamedTuple):
    """How often the agent was blocked since a person last spoke: by us, and by others before."""

    in_a_row: int = 0
    of_others: int = 0


class StopAnswer(Struct, frozen=True):
    """What a host does at a stop: it `blocks`, or lets go; then it records `release_records`.

    Some violations may be let through while others block: `decision` has no reasons of those,
    `let_through` names their rules by uid. `warnings` are what the person is told of them.
    """

    decision: Decision
    blocks: bool = False
    release_records: tuple[EffectDone, ...] = ()
    let_through: frozenset[str] = frozenset()
    warnings: tuple[str, ...] = ()


def judged_stop(
    answer: Answer, journal: Journal, max_blocks: int, blocks_before: BlocksBefore
) -> StopAnswer:
    """How a stop ends, after so many that were blocked."""
    last = answer.again or answer
    event, decision = last.event, last.decision
    assert isinstance(event, AgentStop)
    if not blocks_stop(decision) or answer.problem:
        return StopAnswer(decision, blocks=blocks_stop(decision))
    blocked = journal.session(event.session).blocked
    found = violations(event, decision)
    over = dict(_over(map(blocked.find, found), max_blocks, blocks_before))
    blocks = len(over) < len(found)
    gone = [reason for digest in over for reason in found[digest]]
    # While others block stop after stop, the person hears of it once.
    news = {one: n for one, n in over.items() if not (blocks and blocked.find(one).let_through)}
    return StopAnswer(
        replace(decision, reasons=tuple(one for one in decision.reasons if one not in gone)),
        blocks=blocks,
        release_records=tuple(released(event, digests, n) for n, digests in _by_blocks(over)),
        let_through=frozenset(reason.uid for reason in gone),
        warnings=tuple(
            let_through_warning([reason for one in digests for reason in found[one]], n)
            for n, digests in _by_blocks(news)
        ),
    )


def _over(
    known: Iterable[BlockedStop], max_blocks: int, blocks_before: BlocksBefore
) -> Iterator[tuple[str, int]]:
    """The violations that block no more, each with the number of blocks.

    Those of others count only for what we have told the agent, and not in that number.
    """
    for stop in known:
        # This stop is counted already; where it is let through, it is taken back.
        before = stop.times - 1
        of_others = blocks_before.of_others if before else 0
        if before + of_others >= max_blocks:
            yield stop.digest, before
        elif blocks_before.in_a_row >= MAX_IN_A_ROW:
            yield stop.digest, blocks_before.in_a_row


def _by_blocks(over: Mapping[str, int]) -> list[tuple[int, list[str]]]:
    counts = sorted(set(over.values()))
    return [(n, [one for one, times in over.items() if times == n]) for n in counts]


def let_through_warning(reasons: Iterable[Reason], blocks: int) -> str:
    """What a person is told of rules that object and do not block any more, in any host."""
    rules = [clipped(visible(one), MAX_NAME) for one in dict.fromkeys(r.rule for r in reasons)]
    named = listed(rules, MAX_NAMED, in_ticks)
    times = "1 block" if blocks == 1 else f"{blocks} blocks"
    return f"let through after {times}: {named}; it is recorded as {UNANSWERED}"
