"""The bytes of a file of the queue → an entry, or what is wrong with it; and back.

    HASH.STATUS.json   {"policy_name": …, "trigger_hash": …, "status": …, …}

`content_digest`, `shown` and `begun_by` are ours, everything else is the document's. A file holds
what its name says, or it is corrupt.
"""

import re
from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, MsgspecError, Struct, UnsetType, json

from bylaw.dialects.file_policies.trigger_hash import HASH_DIGITS, trigger_hash
from bylaw.model.errors import BylawError
from bylaw.model.facts import Entry
from bylaw.model.values import JSON, Count
from bylaw.model.vocabulary import EntryStatus
from bylaw.runtime.owner import is_dead

MAX_ENTRY_BYTES = 32 << 20
LAST_LINES = 3
HASH = re.compile(rf"[0-9a-f]{{{HASH_DIGITS}}}")
ENTRY_NAME = re.compile(rf"({HASH.pattern})\.({'|'.join(EntryStatus)})\.json")

Name = Annotated[str, Meta(min_length=1)]
# Status, digest, how often it was shown.
EntryState: TypeAlias = tuple[EntryStatus, str, int]


class CorruptEntryError(ValueError):
    """Why a file of the queue is no entry."""


class ActionResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What evaluating gave (DW-070, DW-A16).

    Of a command: the first run that failed, else the first; the streams are those of all that
    failed, and `runs` are all of them in short, with what each wrote. `reason` says what failed,
    `touched` which other files than its own were changed (DW-A23).
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
        """What failed, and the last lines that the command wrote about it, of the first run."""
        if not self.reason:
            return ""
        first = next((run for run in self.runs or () if "error" in run), {})
        said = first.get("said")
        if not isinstance(said, list):
            said = [*last_lines(str(self.stderr or self.stdout or ""))]
        return "\n".join([self.reason, *map(str, said)])


def last_lines(text: str) -> list[str]:
    """The last that a command said."""
    return [line for line in text.splitlines() if line.strip()][-LAST_LINES:]


class QueueEntry(Struct, frozen=True, kw_only=True):
    """One entry; a time is a text in ISO 8601. Keys that are not known are passed over.

    `begun_by` is the process that runs its command: whoever finds it there when that process is
    dead, or in a work tree where nobody else runs commands, knows that it was interrupted.
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
        """The name of its file."""
        return file_name(self.trigger_hash, self.status)

    @property
    def fact(self) -> Entry:
        """What rules may know of it."""
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
        """By what two states of it are told apart."""
        return self.status, self.content_digest, self.shown


def file_name(hash_: str, status: EntryStatus) -> str:
    """The name of the file of an entry in that state (DW-054)."""
    return f"{hash_}.{status}.json"


def entry_bytes(entry: QueueEntry) -> bytes:
    """What the file of an entry holds; BylawError if that is too much, or no text."""
    try:
        data = json.format(json.encode(entry), indent=2) + b"\n"
    except UnicodeEncodeError:
        raise BylawError("a name in it is no UTF-8") from None
    if len(data) > MAX_ENTRY_BYTES:
        raise BylawError(f"it would be larger than {MAX_ENTRY_BYTES:,} bytes")
    return data


def read_entry(name: str, data: bytes) -> QueueEntry:
    """The entry in a file of that name; CorruptEntryError says why there is none."""
    if len(data) > MAX_ENTRY_BYTES:
        raise CorruptEntryError(f"it is larger than {MAX_ENTRY_BYTES:,} bytes")
    try:
        entry = json.decode(data, type=QueueEntry)
    except (MsgspecError, UnicodeDecodeError, RecursionError) as wrong:
        raise CorruptEntryError(str(wrong)) from None
    return checked(entry, name)


def checked(entry: QueueEntry, name: str) -> QueueEntry:
    """An entry that a file of that name can hold; CorruptEntryError says why it cannot."""
    if entry.file_name != name:
        said = f"`{entry.trigger_hash}` and `{entry.status}`"
        raise CorruptEntryError(f"it says {said}, which its name does not")
    for time in (entry.created_at, entry.evaluated_at):
        if time is not None and not _is_time(time):
            raise CorruptEntryError(f"`{time[:40]}` is no time")
    if (entry.evaluated_at is None) != (entry.status is EntryStatus.QUEUED):
        raise CorruptEntryError("`evaluated_at` does not fit its status")
    for path in entry.trigger_files:
        if path.startswith("/") or ".." in path.split("/"):
            raise CorruptEntryError(f"`{path[:200]}` is no path from the root")
    # So that nothing in it that the hash was made of can have been changed (DW-062, DW-066).
    made_of = entry.policy_name, entry.trigger_files, entry.baseline_ref
    if trigger_hash(*made_of) != entry.trigger_hash:
        raise CorruptEntryError("its hash is not that of its policy, files and baseline")
    return entry


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
