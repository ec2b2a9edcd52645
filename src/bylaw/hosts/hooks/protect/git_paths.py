"""Match files against pathspecs of git, with their magic and patterns."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import NamedTuple

from bylaw.runtime.paths import lies_in, name_from

_MAGIC = re.compile(r":\((?P<long>[^)]*)\)|:(?P<short>[/!^]+):?")
_WILD = re.compile(r"[*?\[]")


class GitPath(NamedTuple):
    """The files below a folder, or those of them that match a pattern."""

    folder: str
    pattern: str = ""

    def means(self, location: str) -> bool:
        """Whether a file is included, by its path without links."""
        folder, path = self.folder.casefold(), location.casefold()
        if not self.pattern:
            return lies_in(path, folder)
        below, pattern = name_from(folder, path), self.pattern.casefold()
        return fnmatchcase(below, pattern) or fnmatchcase(below, f"{pattern}/*")

    def fits(self, location: str, below: str) -> bool:  # noqa: ARG002 - signature of file filters
        """Whether a file is included; `below` is ignored."""
        return self.means(location)


def git_paths(specs: tuple[str, ...], folder: str, top: str) -> list[GitPath]:
    """Return what pathspecs include in a folder of a work tree; without any, the work tree.

    Exclusions (`:!PATH`) are ignored: the excluded files are included.
    """
    if not specs:
        return [GitPath(top)]
    found = [one for spec in specs if (one := _git_path(spec, folder, top)) is not None]
    return found or [GitPath(folder)]


def _git_path(spec: str, folder: str, top: str) -> GitPath | None:
    magic = _MAGIC.match(spec)
    words = magic["long"].split(",") if magic and magic["long"] is not None else []
    signs = (magic["short"] or "") if magic else ""
    if "exclude" in words or "!" in signs or "^" in signs:
        return None
    base = top if "top" in words or "/" in signs else folder
    rest = spec[magic.end() :] if magic else spec
    start = "/" if rest.startswith("/") else base
    parts = [one for one in rest.split("/") if one not in {"", "."}]
    while parts and not _WILD.search(parts[0]):
        part = parts.pop(0)
        start = start.rpartition("/")[0] or "/" if part == ".." else f"{start.rstrip('/')}/{part}"
    # `**/` also matches no folder at all.
    return GitPath(start, "/".join(parts).replace("**/", "*"))
