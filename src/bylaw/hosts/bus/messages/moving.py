"""Names of files of the bus → names that fit beside them, and whose a file is."""

from __future__ import annotations

import os

from bylaw.runtime.owner import this_process
from bylaw.runtime.paths import as_bytes, as_text

MAX_NAME_BYTES = 255  # as the file systems have it
MAX_ENDING_BYTES = 16
OWNER_TAG = r"[^_/.]*_[^_/.]*_\d+_\d*"  # of a regular expression
_IN_CHARACTER = range(0x80, 0xC0)  # bytes of UTF-8 with which no character begins


def split_ending(name: str) -> tuple[str, str]:
    """A name before its ending, and the ending with its dot; what is too long for one is none."""
    stem, ending = os.path.splitext(name)  # noqa: PTH122 - a name, no path
    return (stem, ending) if len(as_bytes(ending)) <= MAX_ENDING_BYTES else (name, "")


def with_tail(stem: str, tail: str) -> str:
    """A name with something behind it; of a long name the end is left out before that."""
    whole, room = as_bytes(stem), MAX_NAME_BYTES - len(as_bytes(tail))
    if len(whole) > room:
        while whole[room] in _IN_CHARACTER:
            room -= 1
    return as_text(whole[:room]) + tail


def owner_tag() -> str:
    """This process as part of a file name."""
    return this_process().replace("/", "_")


def owner_of(tag: str) -> str:
    """The process of a tag, as `runtime/owner` knows it."""
    return tag.replace("_", "/")
