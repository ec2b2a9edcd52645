"""An entry of the queue and a step that wants to write it → the entry from then on, or none.

    nothing → queued, skipped        queued → passed, failed, skipped
    failed → skipped (a promise: it may be skipped)
    passed, failed, skipped → queued, skipped, but only when the content is another one: a new life
    passed → passed, of a policy without a command, when commands made another content of it

Everything else leaves the entry as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.worktree.queue.entry_file import QueueEntry
from bylaw.model.iso_time import iso_time
from bylaw.model.vocabulary import EntryStatus

if TYPE_CHECKING:
    from bylaw.hosts.worktree.queue.entry_file import ActionResult
    from bylaw.model.effects import EntryWrite

_BEGINNINGS = frozenset({EntryStatus.QUEUED, EntryStatus.SKIPPED})


def next_entry(
    current: QueueEntry | None, step: EntryWrite, result: ActionResult, now: int
) -> QueueEntry | None:
    """What the step makes of the entry; None if it changes nothing. `now` is in milliseconds."""
    if not _may(current, step):
        return None
    # The life that goes on, if it is the same one.
    is_other = current is not None and _other_content(current, step)
    life = None if is_other and not _keeps_promise(current, step) else current
    lists = step if step.trigger_files or current is None else current
    return QueueEntry(
        policy_name=step.policy,
        trigger_hash=step.hash,
        status=step.status,
        created_at=life.created_at if life else iso_time(now),
        evaluated_at=None if step.status is EntryStatus.QUEUED else iso_time(now),
        baseline_ref=step.baseline or (current.baseline_ref if current else ""),
        trigger_files=lists.trigger_files,
        expected_files=lists.expected_files,
        matched_files=lists.matched_files,
        action_result=result,
        content_digest=step.digest or (life.content_digest if life else ""),
        shown=max(step.shown, life.shown if life else 0),
    )


def _may(current: QueueEntry | None, step: EntryWrite) -> bool:
    if current is None:
        return step.status in _BEGINNINGS and bool(step.trigger_files)
    if current.status is EntryStatus.QUEUED:
        # A command that is queued may be running: only to show it again is a change.
        return step.status is not EntryStatus.QUEUED or step.shown > current.shown
    if _other_content(current, step):
        return step.status in _BEGINNINGS or _keeps_promise(current, step)
    return current.status is EntryStatus.FAILED and step.status is EntryStatus.SKIPPED


def _keeps_promise(current: QueueEntry | None, step: EntryWrite) -> bool:
    """Whether what an agent promised goes on to count, for what commands made of the files."""
    was_passed = current is not None and current.status is EntryStatus.PASSED
    return was_passed and step.status is EntryStatus.PASSED and not step.command


def _other_content(current: QueueEntry, step: EntryWrite) -> bool:
    """Whether this is about another content than that on which the entry was closed (DW-A19)."""
    closed = current.status is not EntryStatus.QUEUED
    return closed and bool(step.digest) and step.digest != current.content_digest
