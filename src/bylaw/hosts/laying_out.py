"""A root → the first rules of a repository, laid out in it; what is there already stays as it is.

The files themselves lie in `starter/` of a package; `examples/law/` shows those of the bus.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.new_file import InPlace, standing, write_new_file
from bylaw.hosts.packaged_files import packaged_files
from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.configuration import CONFIGURATION, PROJECT
from bylaw.runtime.paths import is_folder
from bylaw.runtime.root import read_configuration

if TYPE_CHECKING:
    from collections.abc import Iterator

LAW_STARTER = "bylaw.hosts.bus"
HOOKS = "bylaw.hosts.hooks"
_STARTER = "starter"


class StarterFile(Struct, frozen=True):
    """A file of the starter, by its path from the root; `why` says why one is not written."""

    path: str
    data: bytes
    standing: InPlace = InPlace.NEW
    why: str = ""


def starter_files(root: str, package: str) -> list[StarterFile]:
    """The files of a starter, and how it stands with each; BylawError if there is no root."""
    if not is_folder(root):
        raise BylawError(f"there is no folder `{visible(root)}`")
    settings = read_configuration(root).source.path
    return [
        StarterFile(path, data, *_standing(root, path, data, settings))
        for path, data in starter(package)
    ]


def lay_out(root: str, rules: list[StarterFile]) -> int:
    """Write what is new, and say how many files that are; BylawError if one cannot be written."""
    wanted = [one for one in rules if one.standing is InPlace.NEW]
    for one in wanted:
        write_new_file(root, one.path, one.data)
    return len(wanted)


def starter(package: str) -> Iterator[tuple[str, bytes]]:
    """Every file with its path from the root, in the order of the paths."""
    return packaged_files(package, _STARTER)


def _standing(root: str, path: str, data: bytes, settings: str) -> tuple[InPlace, str]:
    if path == CONFIGURATION and settings == PROJECT:
        return InPlace.KEPT, f"the settings stand in `{PROJECT}`"
    return standing(root, path, data)
