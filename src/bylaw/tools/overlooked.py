"""The books of a root → ChatMD files that look like rules of it and are in none of them.

The convention finds chats at the top and in `prompts/`, for themselves alone. One that lies among
rules was most likely meant to govern, and nothing else would say that it does not.
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
    """A warning for each; a file that another imports is part of that one."""
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
            continue  # a folder that is not there, or that nobody can put rules into
        yield from (f"{folder}/{name}" for name in names if name.endswith(".chatmd"))


def _told(path: str) -> Diagnostic:
    shown = visible(path)
    headline = f"`{shown}` is in no book: it governs its own chat alone"
    help_ = f'name it in `bylaw.toml`: `[[book]]`, `path = "{shown}"`'
    return warning(OVERLOOKED_CHAT, headline, SourceFile(shown, ""), Span(0, 0), help=help_)
