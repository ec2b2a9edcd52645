"""A connection to the journal that opens the file again if it was replaced or damaged."""

from __future__ import annotations

import os
from time import monotonic
from typing import TYPE_CHECKING

from bylaw.runtime.journal.database import file_identity, open_database
from bylaw.runtime.journal.errors import forked_journal, told_plainly, unusable_journal
from bylaw.runtime.sqlite_file import IN_MEMORY

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from bylaw.runtime.settings.tables import Durability

# How long records may still go to a file that was moved away.
LOOK_AGAIN_S = 1.0


class Connection:
    """The connection of one process to a database; JournalError if it cannot be opened.

    Use the database inside the context `plainly`: it translates errors and records that the file
    is broken.
    """

    def __init__(self, path: str, durability: Durability) -> None:
        self.path = path
        self.plainly = told_plainly(path)
        self._durability = durability
        self._process = os.getpid()
        self._looked = 0.0
        self._closed = False
        self._open()

    def renewed(self) -> bool:
        """Open the file again if it was broken or replaced; return whether that happened."""
        if self._process != os.getpid():
            raise forked_journal(self.path)
        if self._closed:
            raise unusable_journal(self.path, "it was closed")
        if not self.plainly.broken and monotonic() < self._looked + LOOK_AGAIN_S:
            return False
        self._looked = monotonic()
        is_same = not self.plainly.broken and file_identity(self.path) == self._file
        if is_same or self.path == IN_MEMORY:
            return False
        old = self._connection
        self._open()  # if this fails, keep the old connection for the next try
        old.close()
        return True

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open: neither committed nor rolled back."""
        return self._connection.in_transaction

    def close(self) -> None:
        """Close the file."""
        self._closed = True
        self._connection.close()

    def _open(self) -> None:
        self._connection = open_database(self.path, self._durability)
        # One cursor is enough: every result is read before the next statement.
        self.run: Callable[..., sqlite3.Cursor] = self._connection.cursor().execute
        self.plainly.broken = False
        self._file = file_identity(self.path)
        self._looked = monotonic()
