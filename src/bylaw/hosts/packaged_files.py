"""A folder that is shipped with the program → its files, by their paths below it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

_CACHE = "__pycache__"  # if somebody ran the files where they lie


def packaged_files(package: str, folder: str) -> Iterator[tuple[str, bytes]]:
    """Every file with its path, in the order of the paths."""
    yield from sorted(_below(files(package) / folder, ""))


def _below(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_file():
            yield f"{path}{entry.name}", entry.read_bytes()
        elif entry.name != _CACHE:
            yield from _below(entry, f"{path}{entry.name}/")
