"""A path below a root and some bytes → a new file there; nothing that is there is ever replaced."""

from __future__ import annotations

from enum import StrEnum

from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.beneath import beneath
from bylaw.runtime.entering import entered
from bylaw.runtime.reading import in_plain_words, regular_bytes
from bylaw.runtime.writing import write_new


class InPlace(StrEnum):
    """What lies in the place of a file."""

    NEW = "new"
    SAME = "same"
    KEPT = "kept"
    BLOCKED = "blocked"  # no such file, and none can be put there


def standing(root: str, path: str, data: bytes) -> tuple[InPlace, str]:
    """What would become of it; of a file that is not written also why."""
    try:
        with beneath(root, path, new=True) as place:
            if place.missing:
                return InPlace.NEW, ""
            there = regular_bytes(place.name, len(data), folder=place.folder)
    except FileNotFoundError:
        return InPlace.NEW, ""
    except (OSError, ValueError) as wrong:
        return InPlace.BLOCKED, _why_not(wrong)
    return (InPlace.SAME, "") if there == data else (InPlace.KEPT, "it is another one")


def write_new_file(root: str, path: str, data: bytes) -> None:
    """Write it, folders included; BylawError if that cannot be done or a file is there."""
    try:
        with beneath(root, path, new=True) as place, entered(place) as folder:
            write_new(folder, place.name, data, mode=0o666)
    except (OSError, ValueError) as wrong:
        raise BylawError(f"cannot write `{visible(path)}`: {_why_not(wrong)}") from None


def _why_not(wrong: OSError | ValueError) -> str:
    match wrong:
        case FileExistsError():
            return "a file has just been put there"
        case NotADirectoryError():
            return "a file is in the place of its folder"
    return in_plain_words(wrong)
