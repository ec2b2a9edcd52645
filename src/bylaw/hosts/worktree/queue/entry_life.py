"""Apply a step to an entry of the queue: the allowed changes of its status.

    missing → queued, skipped        queued → passed, failed, skipped
    failed → skipped (by a promise)
    passed, failed, skipped → queued, skipped, only if the content is different: it starts again
    passed → passed, for a policy without a command, if commands changed the content

Any other step does not change the entry.
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
    """Return the entry after a step; None if it does not change. `now` is in milliseconds."""
    if not _may(current, step):
        return None
    # The entry whose times and counts are kept; None if the entry starts again.
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
        # A queued command may be running, so only a higher `shown` is a change.
        return step.status is not EntryStatus.QUEUED or step.shown > current.shown
    if _other_content(current, step):
        return step.status in _BEGINNINGS or _keeps_promise(current, step)
    return current.status is EntryStatus.FAILED and step.status is EntryStatus.SKIPPED


def _keeps_promise(current: QueueEntry | None, step: EntryWrite) -> bool:
    """Whether a promise stays valid although commands changed the files since."""
    was_passed = current is not None and current.status is EntryStatus.PASSED
    return was_passed and step.status is EntryStatus.PASSED and not step.command


def _other_content(current: QueueEntry, step: EntryWrite) -> bool:
    """Whether the entry was closed with another content than that of the step (DW-A19)."""
    closed = current.status is not EntryStatus.QUEUED
    return closed and bool(step.digest) and step.digest != current.content_digest
