"""A step that writes an entry × its event → the digest that its files have by now.

The digest in a step is as old as the facts that it was decided on. A command has changed files
since (DW-A25), or another process has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from bylaw.dialects.file_policies.trigger_hash import content_digest, looked_at
from bylaw.model.fact_paths import file_path
from bylaw.model.facts import ChangeSet, WorkFacts
from bylaw.runtime.file_digests import FileDigests

if TYPE_CHECKING:
    from collections.abc import Collection

    from bylaw.model.effects import EntryWrite
    from bylaw.model.event import Event

# Digests of what is more than one file, or not there: a repository in this one, a bare version.
_NO_CONTENT = ("commit ", "blob ")


def present_digest(root: str, event: Event, step: EntryWrite, touched: Collection[str] = ()) -> str:
    """As the language would make it now; `touched` are files that changed since the facts."""
    changes = _change_set(event, step.baseline)
    if changes is None or not step.trigger_files:
        return step.digest
    recorded = {file.path: file.digest for file in changes.files}
    files = FileDigests(root)
    own = (*step.trigger_files, *step.expected_files, *step.matched_files)
    paths = looked_at(own, step.command)
    now = {path: files.of(file_path(path)) for path in paths & {*recorded, *touched}}
    kept = {path: digest for path, digest in recorded.items() if digest.startswith(_NO_CONTENT)}
    return content_digest(paths, now | kept, step.command)


def _change_set(event: Event, ref: str) -> ChangeSet | None:
    facts = event.facts
    if not isinstance(facts, WorkFacts) or facts.changes is UNSET:
        return None
    sets = (facts.changes.base, facts.changes.default_tip, facts.changes.prompt)
    return next((one for one in sets if isinstance(one, ChangeSet) and one.ref == ref), None)
