"""Write starter rules into a repository. Existing files stay as they are.

The files come from the folder `starter/` of a package. `examples/law/` has a copy of the bus files.
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
    """A starter file and its path from the root. `why` is the reason if it is not written."""

    path: str
    data: bytes
    standing: InPlace = InPlace.NEW
    why: str = ""


def starter_files(root: str, package: str) -> list[StarterFile]:
    """Return the starter files of a package, each with its state in the root.

    Raises BylawError if the root does not exist.
    """
    if not is_folder(root):
        raise BylawError(f"folder `{visible(root)}` does not exist")
    settings = read_configuration(root).source.path
    return [
        StarterFile(path, data, *_standing(root, path, data, settings))
        for path, data in starter(package)
    ]


def lay_out(root: str, rules: list[StarterFile]) -> int:
    """Write the new files and return their number. Raises BylawError if one cannot be written."""
    wanted = [one for one in rules if one.standing is InPlace.NEW]
    for one in wanted:
        write_new_file(root, one.path, one.data)
    return len(wanted)


def starter(package: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path from the root and the bytes of every starter file, sorted by path."""
    return packaged_files(package, _STARTER)


def _standing(root: str, path: str, data: bytes, settings: str) -> tuple[InPlace, str]:
    if path == CONFIGURATION and settings == PROJECT:
        return InPlace.KEPT, f"the settings are in `{PROJECT}`"
    return standing(root, path, data)
