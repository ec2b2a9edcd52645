"""Turn errors of SQLite and of the file system into journal errors that say what to do."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from bylaw.model.codes.runtime import (
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
from bylaw.model.display import brief, clip_text
from bylaw.model.errors import BylawError
from bylaw.model.suggest import did_you_mean
from bylaw.store.files import DISK_FULL_ERRNOS, has_disk_space

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.codes import Code

MAX_HINT = 500  # characters of a suggestion
_CORRUPT = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT", "SQLITE_MISMATCH")
_BREAKING = frozenset({JOURNAL_CORRUPT.name, JOURNAL_UNUSABLE.name})


class JournalError(BylawError):
    """The journal cannot be used. `code` is stable; the message says what to do."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code.name
        self.message = message


def newer_journal(path: str, version: int) -> JournalError:
    """Return the error for a journal that a newer Bylaw has written."""
    message = f"the journal `{path}` has the format {version} of a newer Bylaw; use that version"
    return JournalError(JOURNAL_NEWER, message)


def corrupt_journal(path: str, why: str) -> JournalError:
    """Return the error for a journal whose content cannot be trusted."""
    message = (
        f"the journal `{path}` is damaged: {why}; "
        f"move it away together with `{path}-wal` and `{path}-shm`, and Bylaw starts a new one"
    )
    return JournalError(JOURNAL_CORRUPT, message)


def no_journal(path: str) -> JournalError:
    """Return the error for a journal that does not exist."""
    message = (
        f"journal `{path}` not found: nothing was recorded yet, "
        "or it is elsewhere; pass its path with `--journal PATH`"
    )
    return JournalError(NO_JOURNAL, message)


def unknown_session(session: str, known: Iterable[str]) -> JournalError:
    """Return the error for a session that has no records."""
    hint = clip_text(did_you_mean(session, known) or "it has no sessions", MAX_HINT)
    message = f"unknown session `{brief(session)}` in the journal: {hint}"
    return JournalError(UNKNOWN_SESSION, message)


def unknown_record(seq: int, newest: int) -> JournalError:
    """Return the error for a record number that does not exist."""
    range_ = f"it has records 1 to {newest}" if newest else "it has no records yet"
    return JournalError(UNKNOWN_RECORD, f"record {seq} not found in the journal: {range_}")


def no_decisions() -> JournalError:
    """Return the error for a journal in which no rule has affected a decision."""
    message = (
        "no rule has affected a decision yet; "
        "name a record, such as `bylaw explain 1 --rule ID`; `bylaw log` lists the records"
    )
    return JournalError(NOTHING_DECIDED, message)


def forked_journal(path: str) -> JournalError:
    """Return the error for a connection used after a fork: SQLite does not survive one."""
    message = f"the journal `{path}` was opened by another process; open it again after a fork"
    return JournalError(JOURNAL_UNUSABLE, message)


def unfinished_purge(path: str, why: str) -> JournalError:
    """Return the error for erased payloads whose bytes may still be in the file or in its log."""
    message = (
        f"payloads were erased, but their bytes may still be in the journal `{path}`: {why}; "
        "run the purge again later to remove them"
    )
    return JournalError(JOURNAL_BUSY, message)


class TranslatedErrors:
    """A reusable context that turns errors of the database into JournalError."""

    __slots__ = ("_path", "broken")

    def __init__(self, path: str) -> None:
        self._path = path
        # Whether the file could not be used; when it is opened again, it may be another file.
        self.broken = False

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, problem: BaseException | None, __: object) -> None:
        if problem is None:
            return
        told = _translated(self._path, problem)
        self.broken |= told is not None and told.code in _BREAKING
        if told is not None and told is not problem:
            raise told from problem


def translated_errors(path: str) -> TranslatedErrors:
    """Return a context that raises JournalError for errors of the database."""
    return TranslatedErrors(path)


def _translated(path: str, problem: BaseException) -> JournalError | None:
    match problem:
        case UnicodeEncodeError():
            return unusable_journal(path, "a text or a file name is not UTF-8")
        case UnicodeDecodeError():
            return corrupt_journal(path, "a text in it is not UTF-8")
        case JournalError():
            return problem
        case sqlite3.ProgrammingError() | sqlite3.InterfaceError():
            return None  # a bug in Bylaw
        case sqlite3.Error():
            return _from_sqlite(path, problem)
        case OSError():
            return _from_os_error(path, problem)
    return None


def _from_sqlite(path: str, problem: sqlite3.Error) -> JournalError:
    # Errors of the Python module itself, such as a text that is not UTF-8, have no name.
    name = getattr(problem, "sqlite_errorname", None) or "SQLITE_ERROR"
    if name.startswith(_CORRUPT) or name == "SQLITE_ERROR":
        return corrupt_journal(path, str(problem))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        message = f"the journal `{path}` is locked by another process; try again when it has exited"
        return JournalError(JOURNAL_BUSY, message)
    if name == "SQLITE_FULL" or (name.startswith("SQLITE_IOERR") and not has_disk_space(path)):
        return _full_journal(path)
    return unusable_journal(path, str(problem))


def _from_os_error(path: str, problem: OSError) -> JournalError:
    if problem.errno in DISK_FULL_ERRNOS:
        return _full_journal(path)
    return unusable_journal(path, problem.strerror or str(problem))


def _full_journal(path: str) -> JournalError:
    message = (
        f"the journal `{path}` cannot grow: the disk is full; "
        "free some space, or erase old payloads with `bylaw journal purge`"
    )
    return JournalError(JOURNAL_FULL, message)


def unusable_journal(path: str, why: str) -> JournalError:
    """Return the error for a journal that this user cannot use."""
    message = (
        f"the journal `{path}` cannot be used: {why}; "
        "give this user read and write access to it and its folder, "
        "or set `path` in `[journal]` of `bylaw.toml`"
    )
    return JournalError(JOURNAL_UNUSABLE, message)
