"""Paths as text: convert them for the system and compare them.

A path is the same text in every locale; bytes that are not UTF-8 are kept.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing `typing` is too slow here
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def as_bytes(path: str) -> bytes:
    """Encode a path for the system: UTF-8 in every locale, other bytes unchanged."""
    return path.encode("utf-8", "surrogateescape")


def as_text(path: bytes) -> str:
    """Decode a path from the system; the reverse of `as_bytes`."""
    return path.decode("utf-8", "surrogateescape")


def real_path(path: str) -> str:
    """Resolve all links of a path."""
    return as_text(os.path.realpath(as_bytes(path)))


def folder_of(path: str) -> str:
    """Return the folder of a file."""
    return path.rpartition("/")[0] or "/"


def lies_in(path: str, folder: str) -> bool:
    """Check whether a path is a folder or is below it; pass both without links to be sure."""
    return f"{path}/".startswith(folder.rstrip("/") + "/")


def is_there(path: str) -> bool:
    """Check whether the name exists, even as a broken link."""
    return os.path.lexists(as_bytes(path))


def is_folder(path: str) -> bool:
    """Check whether the path is a folder or a link to one."""
    return os.path.isdir(as_bytes(path))  # noqa: PTH112 - a Path takes no bytes


def name_from(root: str, location: str) -> str:
    """Return the path relative to the root, with `/`; empty for a path outside the root."""
    top = root.rstrip("/") + "/"
    return location.removeprefix(top) if location.startswith(top) else ""


def where_it_lies(path: str) -> Iterator[str]:
    """Yield the real path, and the path of the link itself if the last part is a link."""
    leads = real_path(path)
    yield leads
    folder, _, name = path.rstrip("/").rpartition("/")
    if name not in {"", ".", ".."}:
        lies = f"{real_path(folder or '/').rstrip('/')}/{name}"
        if lies != leads:
            yield lies


def with_ends_of_links(paths: Iterable[str]) -> Iterator[str]:
    """Yield each path, and its real path if that differs."""
    for path in paths:
        yield path
        leads = real_path(path)
        if leads != path:
            yield leads
