"""A patch as Codex or `diff` writes it → the files that it adds, changes, moves or removes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_FILE = re.compile(
    r"^[ \t]*\*\*\*[ \t]+(?:(?:Add|Update|Delete)[ \t]+File|Move[ \t]+to):"
    r"[ \t]*(?P<path>\S.*?)[ \t]*\r?$",
    re.MULTILINE,
)
_DIFF = re.compile(
    r"^(?:(?:---|\+\+\+)[ \t]+|(?:rename|copy) (?:from|to) |Index: )"
    r"\"?(?P<path>[^\t\r\n\"]+)",
    re.MULTILINE,
)
_GIT_DIFF = re.compile(r"^diff --git (?P<both>.+?)\r?$", re.MULTILINE)
_NOTHING = "/dev/null"


def patched_paths(text: str) -> Iterator[str]:
    """Yield the paths of a patch in order; none if the text is not a patch."""
    if "*** Begin Patch" in text:
        for found in _FILE.finditer(text):
            yield found["path"]


def diffed_paths(text: str) -> Iterator[str]:
    """Yield the paths of a diff, with and without their first folder: `patch -p` may strip it."""
    named = [found["path"].strip() for found in _DIFF.finditer(text)]
    for found in _GIT_DIFF.finditer(text):
        named += found["both"].replace('"', "").split()
    for path in dict.fromkeys(named):
        if path != _NOTHING:
            yield path
            yield path.partition("/")[2] or path
