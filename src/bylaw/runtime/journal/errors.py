"""What SQLite and the file system say → a journal error for people, with the way out."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from bylaw.model.codes.journal import (
    JOURNAL_BUSY,
    JOURNAL_CORRUPT,
    JOURNAL_FULL,
    JOURNAL_NEWER,
    JOURNAL_UNUSABLE,
    NO_JOURNAL,
    NOTHING_DECIDED,
    UNKNOWN_RECORD,
    UNKNOWN_SESSION,
)
from bylaw.model.errors import BylawError
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief, clipped
from bylaw.runtime.room import NO_ROOM, has_room

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.codes import Code

MAX_HINT = 500  # characters of what may have been meant
_CORRUPT = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT", "SQLITE_MISMATCH")
_BREAKING = frozenset({JOURNAL_CORRUPT.name, JOURNAL_UNUSABLE.name})


class JournalError(BylawError):
    """The journal cannot be used: a stable code, and what to do in the message."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code.name
        self.message = message


def newer_journal(path: str, version: int) -> JournalError:
    """A database that a later Bylaw has written."""
    message = f"the journal `{path}` has the format {version} of a newer Bylaw; use that version"
    return JournalError(JOURNAL_NEWER, message)


def corrupt_journal(path: str, why: str) -> JournalError:
    """What is in the file cannot be believed."""
    message = (
        f"the journal `{path}` is damaged: {why}; "
        f"move it away with what lies beside it (`{path}-wal`, `{path}-shm`), and a new one begins"
    )
    return JournalError(JOURNAL_CORRUPT, message)


def no_journal(path: str) -> JournalError:
    """Nothing was recorded there yet."""
    message = (
        f"there is no journal `{path}`: nothing was recorded yet, "
        "or it lies elsewhere and `--journal PATH` names it"
    )
    return JournalError(NO_JOURNAL, message)


def unknown_session(session: str, known: Iterable[str]) -> JournalError:
    """A session of which nothing was recorded."""
    hint = clipped(did_you_mean(session, known) or "there are no sessions", MAX_HINT)
    message = f"there is no session `{brief(session)}` in the journal: {hint}"
    return JournalError(UNKNOWN_SESSION, message)


def unknown_record(seq: int, newest: int) -> JournalError:
    """A number that no record has."""
    range_ = f"its records are 1 to {newest}" if newest else "it has none yet"
    return JournalError(UNKNOWN_RECORD, f"there is no record {seq} in the journal: {range_}")


def nothing_decided() -> JournalError:
    """A journal of which every decision is quiet."""
    message = (
        "no rule had anything to say so far; "
        "name a record, such as `bylaw explain 1 --rule ID`: `bylaw log` lists them"
    )
    return JournalError(NOTHING_DECIDED, message)


def forked_journal(path: str) -> JournalError:
    """SQLite must not be carried over into a child."""
    message = f"the journal `{path}` was opened by another process; open it again after a fork"
    return JournalError(JOURNAL_UNUSABLE, message)


def unfinished_purge(path: str, why: str) -> JournalError:
    """Payloads are erased, but their bytes may still be in the file or in its log."""
    message = (
        f"payloads were erased, but the journal `{path}` could not be written anew: {why}; "
        "erase once more when that has changed, and their bytes are gone"
    )
    return JournalError(JOURNAL_BUSY, message)


class ToldPlainly:
    """While this lasts, whatever the database says becomes a JournalError; it can last again."""

    __slots__ = ("_path", "broken")

    def __init__(self, path: str) -> None:
        self._path = path
        # Whether the file could not be used: it may be another one when it is opened again.
        self.broken = False

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, problem: BaseException | None, __: object) -> None:
        if problem is None:
            return
        told = _plainly(self._path, problem)
        self.broken |= told is not None and told.code in _BREAKING
        if told is not None and told is not problem:
            raise told from problem


def told_plainly(path: str) -> ToldPlainly:
    """Raise JournalError for whatever the database says."""
    return ToldPlainly(path)


def _plainly(path: str, problem: BaseException) -> JournalError | None:
    match problem:
        case UnicodeEncodeError():
            return unusable_journal(path, "a text or the name of a file is no UTF-8")
        case UnicodeDecodeError():
            return corrupt_journal(path, "there is something else where a text should be")
        case JournalError():
            return problem
        case sqlite3.ProgrammingError() | sqlite3.InterfaceError():
            return None  # a mistake of ours
        case sqlite3.Error():
            return _of_sqlite(path, problem)
        case OSError():
            return _of_system(path, problem)
    return None


def _of_sqlite(path: str, problem: sqlite3.Error) -> JournalError:
    # What the module finds wrong itself, such as a text that is no UTF-8, has no name.
    name = getattr(problem, "sqlite_errorname", None) or "SQLITE_ERROR"
    if name.startswith(_CORRUPT) or name == "SQLITE_ERROR":
        return corrupt_journal(path, str(problem))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        message = f"the journal `{path}` is held by another process; try again when it has ended"
        return JournalError(JOURNAL_BUSY, message)
    if name == "SQLITE_FULL" or (name.startswith("SQLITE_IOERR") and not has_room(path)):
        return _full(path)
    return unusable_journal(path, str(problem))


def _of_system(path: str, problem: OSError) -> JournalError:
    if problem.errno in NO_ROOM:
        return _full(path)
    return unusable_journal(path, problem.strerror or str(problem))


def _full(path: str) -> JournalError:
    message = (
        f"the journal `{path}` cannot grow: the disk is full; "
        "make room, or erase old payloads with `bylaw journal purge`"
    )
    return JournalError(JOURNAL_FULL, message)


def unusable_journal(path: str, why: str) -> JournalError:
    """A file or folder that this user cannot use."""
    message = (
        f"the journal `{path}` cannot be used: {why}; "
        "let this user read and write it and its folder, "
        "or set `path` in `[journal]` of `bylaw.toml`"
    )
    return JournalError(JOURNAL_UNUSABLE, message)
