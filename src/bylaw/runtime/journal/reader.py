"""Find the journal of the current root, and open a journal for reading."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, Self

from bylaw.runtime.journal.database import open_to_read
from bylaw.runtime.journal.errors import told_plainly
from bylaw.runtime.paths import name_from
from bylaw.runtime.root import absolute, find_root, read_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def journal_path() -> str:
    """Return the path of the root's journal from its settings; LoadError if they do not load."""
    root = find_root()
    location = absolute(read_configuration(root).settings.journal.path, root)
    return name_from(absolute("."), location) or location


class JournalReader:
    """A journal open for reading only; JournalError if it does not exist."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._connection = open_to_read(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def query(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Run a statement and return its rows."""
        return list(self.each(statement, values))

    def each(self, statement: str, values: Sequence[object] = ()) -> Iterator[Any]:
        """Run a statement and yield its rows one at a time."""
        with told_plainly(self.path), closing(self._connection.cursor()) as cursor:
            yield from cursor.execute(statement, tuple(values))

    @property
    def newest(self) -> int:
        """The number of the last record; 0 if there is none."""
        if not self.query("PRAGMA user_version")[0][0]:
            return 0  # another process is creating it now
        return int(self.query("SELECT max(seq) FROM records")[0][0] or 0)
