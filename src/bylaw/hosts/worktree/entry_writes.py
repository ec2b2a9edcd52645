"""Perform `entry.write`: write an entry of the queue, unless another process was faster."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from bylaw.dialects.file_policies.judging import ACKNOWLEDGED
from bylaw.engine.outcome import StepOutcome
from bylaw.hosts.worktree.policy_commands import alone, own_entry
from bylaw.hosts.worktree.present_digest import present_digest
from bylaw.hosts.worktree.queue.entry_file import ActionResult
from bylaw.model.effects import EntryWrite
from bylaw.model.facts import WorkFacts
from bylaw.model.vocabulary import EffectStatus, EntryStatus

if TYPE_CHECKING:
    from bylaw.engine.plan import Due
    from bylaw.hosts.worktree.queue.entry_file import EntryState, QueueEntry
    from bylaw.hosts.worktree.queue.queue import Queue
    from bylaw.model.event import Event

UNCHANGED = "it stays as it is"


def write_entry(queue: Queue, root: str, due: Due, event: Event, *, ran: bool) -> StepOutcome:
    """Write an entry if it still has the state on which the decision is based.

    `ran`: this process has run the commands of the plan.
    """
    step = due.step
    assert isinstance(step, EntryWrite)
    closes = _closes_command(due, step)
    if closes and ran:
        return _as_it_is(queue, step)  # the entry was already written after the commands
    # If the commands were interrupted, another process may be running them now.
    with alone(root) if closes else nullcontext():
        current = queue.find(step.hash)
        # Leave an interrupted entry to the next stop, which reads the files again.
        interrupted = closes and current is not None and bool(current.begun_by)
        if interrupted or _is_stale(root, event, step, current):
            return _as_it_is(queue, step)
        result = _result(step, current)
        written = queue.write(step, result, event.at, _known(due, event, step))
    if written is None:
        return _as_it_is(queue, step)
    return StepOutcome(EffectStatus.OK, {"result": written.file_name})


def was_written(outcome: StepOutcome) -> bool:
    """Whether the step with this outcome changed its entry."""
    said = outcome.result if isinstance(outcome.result, dict) else {}
    return outcome.status is EffectStatus.OK and said.get("note") != UNCHANGED


def _as_it_is(queue: Queue, step: EntryWrite) -> StepOutcome:
    """Write nothing, and return the present file name."""
    current = queue.find(step.hash)
    there = current.file_name if current else ""
    return StepOutcome(EffectStatus.OK, {"result": there, "note": UNCHANGED})


def _closes_command(due: Due, step: EntryWrite) -> bool:
    own = own_entry(due.plan)
    closed = step.status in (EntryStatus.PASSED, EntryStatus.FAILED)
    return own is not None and own.hash == step.hash and closed


def _is_stale(root: str, event: Event, step: EntryWrite, current: QueueEntry | None) -> bool:
    """Whether the step would reopen an entry whose files are again as when it was closed."""
    if current is None or current.status is EntryStatus.QUEUED:
        return False
    is_new_life = bool(step.digest) and step.digest != current.content_digest
    return is_new_life and present_digest(root, event, step) == current.content_digest


def _result(step: EntryWrite, current: QueueEntry | None) -> ActionResult:
    said = None if step.result is None else str(step.result)
    if current is not None and said == ACKNOWLEDGED:
        # Keep the result of the command, and add the reason why the entry is skipped.
        return replace(current.action_result, output=said)
    former = current.action_result.command if current else UNSET
    command = step.command or former or UNSET
    failed = step.status is EntryStatus.FAILED
    return ActionResult(
        type="command" if command or failed else "prompt",
        output=said or None,
        exit_code=None,
        command=command,
        reason=said or "" if failed else "",
    )


def _known(due: Due, event: Event, step: EntryWrite) -> set[EntryState | None] | None:
    """Return the states that the step may find: the one decided on, and those its plan writes."""
    facts = event.facts
    if not isinstance(facts, WorkFacts) or facts.entries is UNSET or step.hash not in facts.entries:
        return None
    seen = facts.entries[step.hash]
    known: set[EntryState | None] = {
        (one.status, one.digest, one.shown)
        for one in due.plan.steps
        if isinstance(one, EntryWrite) and one.hash == step.hash
    }
    return known | {(seen.status, seen.digest, seen.shown) if seen else None}
