"""Examples of journals that cannot be used → what submitting an event says; see provoke.py."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import chdir, closing
from pathlib import Path
from typing import TYPE_CHECKING

from bylaw.hosts.python import Engine
from bylaw.model.event import Prompt
from bylaw.store.journal.errors import JournalError
from bylaw.store.journal.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.codes import Example

PATH = "journal.db"
PATIENCE_MS = 10


def _folder(example: Example) -> None:
    """There is a folder where the journal should be."""
    Path(example.text).mkdir()
    Journal(example.text)


def _pages(example: Example) -> None:
    """The file may have so many pages."""
    with Journal(PATH) as journal:
        journal.query(f"PRAGMA max_page_count = {int(example.text)}")
        _submit_often(journal)


def _bytes(example: Example) -> None:
    """The file holds something else."""
    Path(PATH).write_text(example.text, encoding="utf-8")
    Journal(PATH)


def _version(example: Example) -> None:
    """The file says that it is of this version."""
    with Journal(PATH) as journal:
        journal.query(f"PRAGMA user_version = {int(example.text)}")
    Journal(PATH)


def _busy(_: Example) -> None:
    """Another process is in the middle of writing."""
    with Journal(PATH) as journal, closing(sqlite3.connect(PATH)) as other:
        journal.query(f"PRAGMA busy_timeout = {PATIENCE_MS}")
        other.execute("BEGIN IMMEDIATE")
        _submit_often(journal)


def _submit_often(journal: Journal) -> None:
    event = Prompt(text="a prompt of some length " * 20)
    with Engine((), journal) as engine:
        while not engine.submit(event).denied:
            pass
        # Once more without the engine, which gives a denial in its place.
        engine._loop().runtime.record(event)  # noqa: SLF001 - see above


def _refused(attempt: Callable[[Example], None]) -> Callable[[Example], Sequence[JournalError]]:
    def ask(example: Example) -> Sequence[JournalError]:
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            try:
                attempt(example)
            except JournalError as refused:
                refused.message = refused.message.replace(f"{folder}/", "")
                return [refused]
        return []

    return ask


READERS = {
    "journal-busy": _refused(_busy),
    "journal-bytes": _refused(_bytes),
    "journal-folder": _refused(_folder),
    "journal-pages": _refused(_pages),
    "journal-version": _refused(_version),
}
