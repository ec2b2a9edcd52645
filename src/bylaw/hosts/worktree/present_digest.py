"""Compute the present content digest of an entry.

The digest in a step is as old as the facts of its decision. Since then a command (DW-A25) or
another process may have changed files.

Also: check whether an entry was closed with the contents that its files had at some time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from bylaw.dialects.file_policies.trigger_hash import content_digest, looked_at
from bylaw.hosts.worktree.git.contents import is_not_content
from bylaw.model.fact_paths import file_path
from bylaw.model.facts import ChangeSet, WorkFacts
from bylaw.runtime.file_digests import FileDigests

if TYPE_CHECKING:
    from collections.abc import Collection

    from bylaw.hosts.worktree.queue.entry_file import QueueEntry
    from bylaw.model.effects import EntryWrite
    from bylaw.model.event import Event
    from bylaw.model.facts import Changes


def present_digest(root: str, event: Event, step: EntryWrite, touched: Collection[str] = ()) -> str:
    """Return the digest that the language would compute now.

    `touched` are files that changed since the facts of the event.
    """
    changes = _recorded(event, step.baseline)
    if changes is None or not step.trigger_files:
        return step.digest
    recorded = {file.path: file.digest for file in changes.files}
    files = FileDigests(root)
    own = (*step.trigger_files, *step.expected_files, *step.matched_files)
    paths = looked_at(own, step.command)
    now = {path: files.of(file_path(path)) for path in paths & {*recorded, *touched}}
    kept = {path: digest for path, digest in recorded.items() if is_not_content(digest)}
    return content_digest(paths, now | kept, step.command)


def was_closed_on(entry: QueueEntry, changes: Changes) -> bool:
    """Whether the entry was closed with the contents that its files have in `changes`."""
    then = _change_set(changes, entry.baseline_ref)
    if then is None:
        return False
    digests = {file.path: file.digest for file in then.files}
    own = (*entry.trigger_files, *entry.expected_files, *entry.matched_files)
    return content_digest(own, digests, entry.action_result.command or "") == entry.content_digest


def _recorded(event: Event, ref: str) -> ChangeSet | None:
    facts = event.facts
    if not isinstance(facts, WorkFacts) or facts.changes is UNSET:
        return None
    return _change_set(facts.changes, ref)


def _change_set(changes: Changes, ref: str) -> ChangeSet | None:
    sets = (changes.base, changes.default_tip, changes.prompt)
    return next((one for one in sets if isinstance(one, ChangeSet) and one.ref == ref), None)
