"""Entries of the queue: their files, and the allowed changes of their status.

    HASH.STATUS.json   {"policy_name": …, "trigger_hash": …, "status": …, …}

The document defines all keys except `content_digest`, `shown` and `begun_by`, which Bylaw adds. A
file whose content does not match its name is corrupt. Allowed changes:

    missing → queued, skipped        queued → passed, failed, skipped
    failed → skipped (by a promise)
    passed, failed, skipped → queued, skipped, only if the content is different: it starts again
    passed → passed, for a policy without a command, if commands changed the content
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, MsgspecError, Struct, UnsetType, json

from bylaw.languages.file_policies.evaluation import HASH_DIGITS, trigger_hash
from bylaw.model.display import iso_time
from bylaw.model.errors import BylawError
from bylaw.model.facts import Entry
from bylaw.model.values import JSON, Count  # noqa: TC001 - msgspec reads these types
from bylaw.model.vocabulary import EntryStatus
from bylaw.store.system import is_dead

if TYPE_CHECKING:
    from bylaw.model.effects import EntryWrite

MAX_ENTRY_BYTES = 32 << 20
LAST_LINES = 3
HASH = re.compile(rf"[0-9a-f]{{{HASH_DIGITS}}}")
ENTRY_NAME = re.compile(rf"({HASH.pattern})\.({'|'.join(EntryStatus)})\.json")

Name = Annotated[str, Meta(min_length=1)]
# Status, digest, and how many times the entry was shown.
EntryState: TypeAlias = tuple[EntryStatus, str, int]


class CorruptEntryError(ValueError):
    """A file of the queue is not a valid entry. The text says why."""


class ActionResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of an evaluation (DW-070, DW-A16).

    For a command, the fields describe the first run that failed, else the first run. The streams
    are those of all failed runs. `runs` lists all runs in short, with their output. `reason` says
    what failed, `touched` which files were changed that are not the command's own (DW-A23).
    """

    type: Literal["prompt", "command"]
    output: str | None
    exit_code: int | None
    command: str | UnsetType = UNSET
    argv: tuple[str, ...] | UnsetType = UNSET
    stdout: str | UnsetType = UNSET
    stderr: str | UnsetType = UNSET
    runs: tuple[dict[str, JSON], ...] | UnsetType = UNSET
    reason: str = ""
    touched: tuple[str, ...] = ()
    limits: dict[str, JSON] = {}

    @property
    def failure(self) -> str:
        """What failed, with the last lines that the first failed run wrote."""
        if not self.reason:
            return ""
        first = next((run for run in self.runs or () if "error" in run), {})
        said = first.get("said")
        if not isinstance(said, list):
            said = [*last_lines(str(self.stderr or self.stdout or ""))]
        return "\n".join([self.reason, *map(str, said)])


def last_lines(text: str) -> list[str]:
    """Return the last lines of output that are not blank."""
    return [line for line in text.splitlines() if line.strip()][-LAST_LINES:]


class QueueEntry(Struct, frozen=True, kw_only=True):
    """One entry. Times are texts in ISO 8601. Unknown keys are ignored.

    `begun_by` is the process that runs its command. The command was interrupted if that process is
    dead, or if `begun_by` is still set when another process holds the lock for commands.
    """

    policy_name: Name
    trigger_hash: str
    status: EntryStatus
    created_at: str
    evaluated_at: str | None
    baseline_ref: Name
    trigger_files: tuple[Name, ...]
    expected_files: tuple[Name, ...]
    matched_files: tuple[Name, ...]
    action_result: ActionResult
    content_digest: str = ""
    shown: Count = 0
    begun_by: str | UnsetType = UNSET

    @property
    def file_name(self) -> str:
        """The name of the file of the entry."""
        return file_name(self.trigger_hash, self.status)

    @property
    def fact(self) -> Entry:
        """The entry as rules see it."""
        return Entry(
            policy=self.policy_name,
            status=self.status,
            digest=self.content_digest,
            shown=self.shown,
            result=self.action_result.failure,
            interrupted=is_dead(self.begun_by or ""),
        )

    @property
    def state(self) -> EntryState:
        """The values in which two states of the entry differ."""
        return self.status, self.content_digest, self.shown


def file_name(hash_: str, status: EntryStatus) -> str:
    """Return the name of the file of an entry with that status (DW-054)."""
    return f"{hash_}.{status}.json"


def entry_bytes(entry: QueueEntry) -> bytes:
    """Return the content of the file of an entry. Raise BylawError if too large or not UTF-8."""
    try:
        data = json.format(json.encode(entry), indent=2) + b"\n"
    except UnicodeEncodeError:
        raise BylawError("a name in it is not UTF-8") from None
    if len(data) > MAX_ENTRY_BYTES:
        raise BylawError(f"it would be larger than {MAX_ENTRY_BYTES:,} bytes")
    return data


def read_entry(name: str, data: bytes) -> QueueEntry:
    """Read the entry in a file of that name. Raise CorruptEntryError if it is not valid."""
    if len(data) > MAX_ENTRY_BYTES:
        raise CorruptEntryError(f"it is larger than {MAX_ENTRY_BYTES:,} bytes")
    try:
        entry = json.decode(data, type=QueueEntry)
    except (MsgspecError, UnicodeDecodeError, RecursionError) as wrong:
        raise CorruptEntryError(str(wrong)) from None
    return check_entry(entry, name)


def check_entry(entry: QueueEntry, name: str) -> QueueEntry:
    """Return an entry that is valid and matches its file name. Raise CorruptEntryError if not."""
    if entry.file_name != name:
        said = f"`{entry.trigger_hash}` and `{entry.status}`"
        raise CorruptEntryError(f"it contains {said}, but its name does not")
    for time in (entry.created_at, entry.evaluated_at):
        if time is not None and not _is_time(time):
            raise CorruptEntryError(f"`{time[:40]}` is not a time")
    if (entry.evaluated_at is None) != (entry.status is EntryStatus.QUEUED):
        raise CorruptEntryError("`evaluated_at` does not match its status")
    for path in entry.trigger_files:
        if path.startswith("/") or ".." in path.split("/"):
            raise CorruptEntryError(f"`{path[:200]}` is not a path below the root")
    # The values that the hash was computed from cannot be changed unnoticed (DW-062, DW-066).
    made_of = entry.policy_name, entry.trigger_files, entry.baseline_ref
    if trigger_hash(*made_of) != entry.trigger_hash:
        raise CorruptEntryError("its hash does not match its policy, files and baseline")
    return entry


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


_START_STATUSES = frozenset({EntryStatus.QUEUED, EntryStatus.SKIPPED})


def next_entry(
    current: QueueEntry | None, step: EntryWrite, result: ActionResult, now: int
) -> QueueEntry | None:
    """Return the entry after a step; None if it does not change. `now` is in milliseconds."""
    if not _is_allowed(current, step):
        return None
    # The entry whose times and counts are kept; None if the entry starts again.
    is_other = current is not None and _has_other_content(current, step)
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


def _is_allowed(current: QueueEntry | None, step: EntryWrite) -> bool:
    if current is None:
        return step.status in _START_STATUSES and bool(step.trigger_files)
    if current.status is EntryStatus.QUEUED:
        # A queued command may be running, so only a higher `shown` is a change.
        return step.status is not EntryStatus.QUEUED or step.shown > current.shown
    if _has_other_content(current, step):
        return step.status in _START_STATUSES or _keeps_promise(current, step)
    return current.status is EntryStatus.FAILED and step.status is EntryStatus.SKIPPED


def _keeps_promise(current: QueueEntry | None, step: EntryWrite) -> bool:
    """Whether a promise stays valid although commands changed the files since."""
    was_passed = current is not None and current.status is EntryStatus.PASSED
    return was_passed and step.status is EntryStatus.PASSED and not step.command


def _has_other_content(current: QueueEntry, step: EntryWrite) -> bool:
    """Whether the entry was closed with another content than that of the step (DW-A19)."""
    closed = current.status is not EntryStatus.QUEUED
    return closed and bool(step.digest) and step.digest != current.content_digest
