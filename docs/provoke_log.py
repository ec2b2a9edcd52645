"""Examples of arguments of `bylaw log` and `bylaw explain` → what they say; see provoke.py."""

from __future__ import annotations

import tempfile
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING

from bylaw.cli.frame import run
from bylaw.hosts.python import Engine, load
from bylaw.runtime.journal_access import journal_path
from bylaw.store.journal.errors import JournalError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.codes import Example


def _none(example: Example) -> Sequence[JournalError]:
    """A verb where nothing was recorded."""
    return _said(example, recorded=False)


def _verb(example: Example) -> Sequence[JournalError]:
    """A verb where one quiet event was recorded."""
    return _said(example, recorded=True)


def _said(example: Example, *, recorded: bool) -> Sequence[JournalError]:
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("bylaw.toml").touch()
        if recorded:
            with Engine(load(), journal=journal_path()) as engine:
                engine.submit({"kind": "session.start"})
        try:
            run(example.text.split())
        except JournalError as refused:
            return [refused]
    return []


READERS: dict[str, Callable[[Example], Sequence[JournalError]]] = {
    "journal-none": _none,
    "journal-verb": _verb,
}
