"""What SQLite and the file system say → a journal error for people, with the way out."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import contextmanager
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

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.model.codes import Code

MAX_HINT = 500  # characters of what may have been meant
_CORRUPT = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT")


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
        f"move it away (`mv {path} {path}.damaged`), and a new one begins"
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


@contextmanager
def told_plainly(path: str) -> Iterator[None]:
    """Raise JournalError for whatever the database says."""
    try:
        yield
    except sqlite3.Error as problem:
        raise _of_sqlite(path, problem) from problem
    except OSError as problem:
        raise _of_system(path, problem) from problem


def _of_sqlite(path: str, problem: sqlite3.Error) -> JournalError:
    name = getattr(problem, "sqlite_errorname", "") or ""
    if name.startswith(_CORRUPT):
        return corrupt_journal(path, str(problem))
    if name == "SQLITE_FULL":
        return _full(path)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        message = f"the journal `{path}` is held by another process; try again when it has ended"
        return JournalError(JOURNAL_BUSY, message)
    return _unusable(path, str(problem))


def _of_system(path: str, problem: OSError) -> JournalError:
    if problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return _full(path)
    return _unusable(path, problem.strerror or str(problem))


def _full(path: str) -> JournalError:
    message = (
        f"the journal `{path}` cannot grow: the disk is full; "
        "make room, or erase old payloads with `bylaw journal purge`"
    )
    return JournalError(JOURNAL_FULL, message)


def _unusable(path: str, why: str) -> JournalError:
    message = (
        f"the journal `{path}` cannot be used: {why}; "
        "let this user read and write it and its folder, "
        "or set `path` in `[journal]` of `bylaw.toml`"
    )
    return JournalError(JOURNAL_UNUSABLE, message)
