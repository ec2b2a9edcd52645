"""A root → the first laws of a repository, laid out in it; what is there already stays as it is.

The files themselves lie in `starter/`; `examples/law/` shows the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from bylaw.hosts.new_file import Standing, standing, write_new
from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.configuration import CONFIGURATION, PROJECT
from bylaw.runtime.paths import is_folder
from bylaw.runtime.root import read_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

_PACKAGE = "bylaw.hosts.bus"
_STARTER = "starter"
_CACHE = "__pycache__"  # if somebody ran the files where they lie


@dataclass(frozen=True, slots=True)
class StarterFile:
    """A file of the starter, by its path from the root; `why` says why one is not written."""

    path: str
    data: bytes
    standing: Standing = Standing.NEW
    why: str = ""


def starter_files(root: str) -> list[StarterFile]:
    """The files of the starter, and how it stands with each; BylawError if there is no root."""
    if not is_folder(root):
        raise BylawError(f"there is no folder `{visible(root)}`")
    settings = read_configuration(root).source.path
    return [
        StarterFile(path, data, *_standing(root, path, data, settings)) for path, data in starter()
    ]


def lay_out(root: str, laws: list[StarterFile]) -> int:
    """Write what is new, and say how many files that are; BylawError if one cannot be written."""
    wanted = [one for one in laws if one.standing is Standing.NEW]
    for one in wanted:
        write_new(root, one.path, one.data)
    return len(wanted)


def starter() -> Iterator[tuple[str, bytes]]:
    """Every file with its path from the root, in the order of the paths."""
    yield from sorted(_below(files(_PACKAGE) / _STARTER, ""))


def _below(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_file():
            yield f"{path}{entry.name}", entry.read_bytes()
        elif entry.name != _CACHE:
            yield from _below(entry, f"{path}{entry.name}/")


def _standing(root: str, path: str, data: bytes, settings: str) -> tuple[Standing, str]:
    if path == CONFIGURATION and settings == PROJECT:
        return Standing.KEPT, f"the settings stand in `{PROJECT}`"
    return standing(root, path, data)
