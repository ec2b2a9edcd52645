"""Find ChatMD files that look like rules of a root but belong to none of its books.

By convention Bylaw finds chat files at the top and in `prompts/`, and their rules apply only to
their own chat. A chat file in a folder of rules is probably meant for the root. Nothing else warns
that it is not.
"""

from __future__ import annotations

import os
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING

from bylaw.model.codes.books import OVERLOOKED_CHAT
from bylaw.model.diagnostic import warning
from bylaw.model.source import SourceFile, Span
from bylaw.model.visible import visible
from bylaw.runtime.paths import as_bytes, as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.diagnostic import Diagnostic
    from bylaw.runtime.loading import Library

FOLDERS = ("rules", ".bylaw", ".bylaw/rules")
MAX_TOLD = 20


def overlooked_chats(library: Library) -> list[Diagnostic]:
    """Warn about each such file, except files that a book imports."""
    known = set(_known(library))
    found = [path for path in _chats(library.search.root) if path not in known]
    return [_told(path) for path in found[:MAX_TOLD]]


def _known(library: Library) -> Iterator[str]:
    yield from (one.path for one in library.search.found)
    for book in library.books:
        for file in book.texts.values():
            yield from (normpath(join(dirname(file.path), one)) for one in file.beside.texts)


def _chats(root: str) -> Iterator[str]:
    for folder in FOLDERS:
        try:
            names = sorted(map(as_text, os.listdir(as_bytes(f"{root}/{folder}"))))  # noqa: PTH208 - a Path takes no bytes
        except OSError:
            continue  # the folder is missing or not readable
        yield from (f"{folder}/{name}" for name in names if name.endswith(".chatmd"))


def _told(path: str) -> Diagnostic:
    shown = visible(path)
    headline = f"`{shown}` is not listed as a rule file: it applies only to its own chat"
    help_ = f'add it to `bylaw.toml`: `[[book]]`, `path = "{shown}"`'
    return warning(OVERLOOKED_CHAT, headline, SourceFile(shown, ""), Span(0, 0), help=help_)
