"""Paths as texts: what they are to the system, and how two of them lie to one another.

A path is the same text in every locale; bytes that are no UTF-8 are kept.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` is heavy here, and type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def as_bytes(path: str) -> bytes:
    """A path for the system: UTF-8 in every locale, other bytes unchanged."""
    return path.encode("utf-8", "surrogateescape")


def as_text(path: bytes) -> str:
    """A path from the system, the reverse of `as_bytes`."""
    return path.decode("utf-8", "surrogateescape")


def real_path(path: str) -> str:
    """A path without links."""
    return as_text(os.path.realpath(as_bytes(path)))


def folder_of(path: str) -> str:
    """The folder in which a file lies."""
    return path.rpartition("/")[0] or "/"


def lies_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or goes on below it; both without links, to be sure."""
    return f"{path}/".startswith(folder.rstrip("/") + "/")


def is_there(path: str) -> bool:
    """Whether something has that name; a link that leads nowhere is not missed silently."""
    return os.path.lexists(as_bytes(path))


def is_folder(path: str) -> bool:
    """Whether there is a folder, also behind a link."""
    return os.path.isdir(as_bytes(path))  # noqa: PTH112 - a Path takes no bytes


def name_from(root: str, location: str) -> str:
    """The path below the root, with `/`; the empty text for what lies outside."""
    top = root.rstrip("/") + "/"
    return location.removeprefix(top) if location.startswith(top) else ""


def where_it_lies(path: str) -> Iterator[str]:
    """Where a path leads; and where it lies, if it is a link itself."""
    leads = real_path(path)
    yield leads
    folder, _, name = path.rstrip("/").rpartition("/")
    if name not in {"", ".", ".."}:
        lies = f"{real_path(folder or '/').rstrip('/')}/{name}"
        if lies != leads:
            yield lies


def with_ends_of_links(paths: Iterable[str]) -> Iterator[str]:
    """Paths, and where they lead if that is elsewhere."""
    for path in paths:
        yield path
        leads = real_path(path)
        if leads != path:
            yield leads
