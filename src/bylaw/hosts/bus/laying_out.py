"""A root → the first laws of a repository, laid out in it; what is there already stays as it is.

The files themselves lie in `starter/`; `examples/law/` shows the same ones.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import TYPE_CHECKING

from bylaw.hosts.bus.moving import move_new
from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.beneath import beneath
from bylaw.runtime.configuration import CONFIGURATION, PROJECT
from bylaw.runtime.paths import as_bytes, is_folder
from bylaw.runtime.reading import in_plain_words, regular_bytes
from bylaw.runtime.root import read_configuration
from bylaw.runtime.writing import remove, write_beside

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

    from bylaw.runtime.beneath import Place

_PACKAGE = "bylaw.hosts.bus"
_STARTER = "starter"
_CACHE = "__pycache__"  # if somebody ran the files where they lie
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Standing(StrEnum):
    """What lies in the place of a file."""

    NEW = "new"
    SAME = "same"
    KEPT = "kept"


@dataclass(frozen=True, slots=True)
class StarterFile:
    """A file of the starter, by its path from the root; `why` says why one is kept."""

    path: str
    data: bytes
    standing: Standing = Standing.NEW
    why: str = ""


def look(root: str) -> list[StarterFile]:
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
        try:
            with beneath(root, one.path, new=True) as place:
                _write(place, one.data)
        except (OSError, ValueError) as wrong:
            raise BylawError(f"cannot write `{one.path}`: {_why(wrong)}") from None
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
    try:
        with beneath(root, path, new=True) as place:
            if place.missing:
                return Standing.NEW, ""
            there = regular_bytes(place.name, len(data), folder=place.folder)
    except FileNotFoundError:
        return Standing.NEW, ""
    except (OSError, ValueError) as wrong:
        return Standing.KEPT, _why(wrong)
    return (Standing.SAME, "") if there == data else (Standing.KEPT, "it is another one")


def _write(place: Place, data: bytes) -> None:
    """A new file that is whole at every moment; OSError if something has come into its place."""
    with _entered(place) as folder:
        temporary = write_beside(folder, place.name, data, mode=0o666)
        try:
            move_new(folder, temporary, folder, place.name)
        except OSError:
            remove(folder, temporary)
            raise


@contextmanager
def _entered(place: Place) -> Iterator[int]:
    """The folder of a place, made if it is missing."""
    with ExitStack() as opened:
        folder = place.folder
        for part in (*place.missing, "."):
            with suppress(FileExistsError):
                os.mkdir(as_bytes(part), dir_fd=folder)
            folder = os.open(as_bytes(part), _FOLDER, dir_fd=folder)
            opened.callback(os.close, folder)
        yield folder


def _why(wrong: OSError | ValueError) -> str:
    match wrong:
        case FileExistsError():
            return "a file has just been put there"
        case NotADirectoryError():
            return "a file is in the place of its folder"
    return in_plain_words(wrong)
