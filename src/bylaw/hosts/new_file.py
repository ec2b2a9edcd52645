"""Create a new file below a root. An existing file is never replaced."""

from __future__ import annotations

from enum import StrEnum

from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.beneath import beneath
from bylaw.runtime.entering import entered
from bylaw.runtime.reading import in_plain_words, regular_bytes
from bylaw.runtime.writing import write_new


class InPlace(StrEnum):
    """What is at the path of a file that is to be written."""

    NEW = "new"
    SAME = "same"
    KEPT = "kept"
    BLOCKED = "blocked"  # the file does not exist and cannot be created


def standing(root: str, path: str, data: bytes) -> tuple[InPlace, str]:
    """Return what is at the path, and why the file would not be written."""
    try:
        with beneath(root, path, new=True) as place:
            if place.missing:
                return InPlace.NEW, ""
            there = regular_bytes(place.name, len(data), folder=place.folder)
    except FileNotFoundError:
        return InPlace.NEW, ""
    except (OSError, ValueError) as wrong:
        return InPlace.BLOCKED, _why_not(wrong)
    return (InPlace.SAME, "") if there == data else (InPlace.KEPT, "it has different content")


def write_new_file(root: str, path: str, data: bytes) -> None:
    """Create the file and its folders. Raises BylawError if it exists or cannot be written."""
    try:
        with beneath(root, path, new=True) as place, entered(place) as folder:
            write_new(folder, place.name, data, mode=0o666)
    except (OSError, ValueError) as wrong:
        raise BylawError(f"cannot write `{visible(path)}`: {_why_not(wrong)}") from None


def _why_not(wrong: OSError | ValueError) -> str:
    match wrong:
        case FileExistsError():
            return "another process has just created a file there"
        case NotADirectoryError():
            return "its folder is a file"
    return in_plain_words(wrong)
