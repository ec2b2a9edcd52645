"""Write starter rules and other new files into a repository. Existing files are never replaced.

Starter files are shipped in the folder `starter/` of a package; `examples/law/` has a copy of the
bus files. Used by `bylaw init`, the commands that create file policies, and the demo.
"""

from __future__ import annotations

from enum import StrEnum
from importlib.resources import files
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.display import visible
from bylaw.model.errors import BylawError
from bylaw.runtime.root import CONFIGURATION, PROJECT, read_configuration
from bylaw.store.files import os_error_text, read_regular_bytes, write_new
from bylaw.store.paths import is_folder
from bylaw.store.safe_paths import open_folder, open_safe_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable


class TargetState(StrEnum):
    """What is at the path of a file that is to be written."""

    NEW = "new"
    SAME = "same"
    KEPT = "kept"
    BLOCKED = "blocked"  # the file does not exist and cannot be created


def target_state(root: str, path: str, data: bytes) -> tuple[TargetState, str]:
    """Return what is at the path, and why the file would not be written."""
    try:
        with open_safe_path(root, path, new=True) as place:
            if place.missing:
                return TargetState.NEW, ""
            there = read_regular_bytes(place.name, len(data), folder=place.folder)
    except FileNotFoundError:
        return TargetState.NEW, ""
    except (OSError, ValueError) as wrong:
        return TargetState.BLOCKED, _error_text(wrong)
    return (
        (TargetState.SAME, "") if there == data else (TargetState.KEPT, "it has different content")
    )


def write_new_file(root: str, path: str, data: bytes) -> None:
    """Create the file and its folders. Raises BylawError if it exists or cannot be written."""
    try:
        with open_safe_path(root, path, new=True) as place, open_folder(place) as folder:
            write_new(folder, place.name, data, mode=0o666)
    except (OSError, ValueError) as wrong:
        raise BylawError(f"cannot write `{visible(path)}`: {_error_text(wrong)}") from None


def _error_text(wrong: OSError | ValueError) -> str:
    match wrong:
        case FileExistsError():
            return "another process has just created a file there"
        case NotADirectoryError():
            return "its folder is a file"
    return os_error_text(wrong)


_CACHE = "__pycache__"  # exists if the files were run in place


def packaged_files(package: str, folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of every file, sorted by path."""
    yield from sorted(_files_below(files(package) / folder, ""))


def _files_below(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.is_file():
            yield f"{path}{entry.name}", entry.read_bytes()
        elif entry.name != _CACHE:
            yield from _files_below(entry, f"{path}{entry.name}/")


LAW_STARTER = "bylaw.hosts.bus"
HOOKS = "bylaw.hosts.hooks"
_STARTER = "starter"


class StarterFile(Struct, frozen=True):
    """A starter file and its path from the root. `why` is the reason if it is not written."""

    path: str
    data: bytes
    standing: TargetState = TargetState.NEW
    why: str = ""


def starter_files(root: str, package: str) -> list[StarterFile]:
    """Return the starter files of a package, each with its state in the root.

    Raises BylawError if the root does not exist.
    """
    if not is_folder(root):
        raise BylawError(f"folder `{visible(root)}` does not exist")
    settings = read_configuration(root).source.path
    return [
        StarterFile(path, data, *_starter_state(root, path, data, settings))
        for path, data in read_starter(package)
    ]


def write_starter_files(root: str, rules: list[StarterFile]) -> int:
    """Write the new files and return their number. Raises BylawError if one cannot be written."""
    wanted = [one for one in rules if one.standing is TargetState.NEW]
    for one in wanted:
        write_new_file(root, one.path, one.data)
    return len(wanted)


def read_starter(package: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path from the root and the bytes of every starter file, sorted by path."""
    return packaged_files(package, _STARTER)


def _starter_state(root: str, path: str, data: bytes, settings: str) -> tuple[TargetState, str]:
    if path == CONFIGURATION and settings == PROJECT:
        return TargetState.KEPT, f"the settings are in `{PROJECT}`"
    return target_state(root, path, data)
