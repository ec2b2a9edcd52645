"""File names of the bus: names with a suffix, and the process that a name belongs to."""

from __future__ import annotations

import os

from bylaw.runtime.owner import this_process
from bylaw.runtime.paths import as_bytes, as_text

MAX_NAME_BYTES = 255  # the limit of common file systems
MAX_ENDING_BYTES = 16
OWNER_TAG = r"[^_/.]*_[^_/.]*_\d+_\d*"  # a regular expression
_IN_CHARACTER = range(0x80, 0xC0)  # UTF-8 bytes that continue a character


def split_ending(name: str) -> tuple[str, str]:
    """Split a name into stem and ending, with its dot. A long ending is part of the stem."""
    stem, ending = os.path.splitext(name)  # noqa: PTH122 - a name, no path
    return (stem, ending) if len(as_bytes(ending)) <= MAX_ENDING_BYTES else (name, "")


def with_tail(stem: str, tail: str) -> str:
    """Append a tail to a stem. A long stem is cut so that the name fits `MAX_NAME_BYTES`."""
    whole, room = as_bytes(stem), MAX_NAME_BYTES - len(as_bytes(tail))
    if len(whole) > room:
        while whole[room] in _IN_CHARACTER:
            room -= 1
    return as_text(whole[:room]) + tail


def owner_tag() -> str:
    """This process as part of a file name."""
    return this_process().replace("/", "_")


def owner_of(tag: str) -> str:
    """The process of a tag, in the form of `runtime/owner`."""
    return tag.replace("_", "/")
