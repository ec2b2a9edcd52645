"""Decide whether a stop is blocked or released.

A requirement that the agent cannot meet would keep it busy for ever. So the same violation blocks
a stop only a limited number of times, each violation counted on its own. After that it is released
with a warning to the person, and that is recorded. The agent stops when no violation blocks any
more.
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


def judged_stop(
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
    over = dict(_over(map(blocked.find, found), max_blocks, blocks_before))
    blocks = len(over) < len(found)
    gone = [reason for digest in over for reason in found[digest]]
    # While other violations block stop after stop, warn the person only once.
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


def let_through_warning(reasons: Iterable[Reason], blocks: int) -> str:
    """Return the warning for a person about rules that no longer block, the same in all hosts."""
    rules = [clipped(visible(one), MAX_NAME) for one in dict.fromkeys(r.rule for r in reasons)]
    named = listed(rules, MAX_NAMED, in_ticks)
    times = "1 block" if blocks == 1 else f"{blocks} blocks"
    return f"released after {times}: {named}; recorded as {UNANSWERED}"
