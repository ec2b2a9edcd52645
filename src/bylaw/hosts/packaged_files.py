"""Read the files of a folder that is shipped in a package."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

_CACHE = "__pycache__"  # exists if the files were run in place


def packaged_files(package: str, folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of every file, sorted by path."""
    yield from sorted(_below(files(package) / folder, ""))


def _below(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_file():
            yield f"{path}{entry.name}", entry.read_bytes()
        elif entry.name != _CACHE:
            yield from _below(entry, f"{path}{entry.name}/")
