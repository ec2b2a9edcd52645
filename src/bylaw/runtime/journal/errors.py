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
)
from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.codes import Code

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
        f"the journal `{path}` cannot be written: {why}; "
        "make its folder writable, or set `path` in `[journal]` of `bylaw.toml`"
    )
    return JournalError(JOURNAL_UNUSABLE, message)
