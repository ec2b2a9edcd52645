"""Paths as text, and the folders in which Bylaw keeps files of the user.

A path is the same text in every locale; bytes that are not UTF-8 are kept. Imports almost nothing,
because every hook uses it. A user folder inside the root is refused, because a repository could
write it, unless the root is the home of this account. The check reads the home from the password
database, not from `HOME`, because a repository could set `HOME`.
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


def is_inside(path: str, folder: str) -> bool:
    """Check whether a path is a folder or is below it; pass both without links to be sure."""
    return f"{path}/".startswith(folder.rstrip("/") + "/")


def path_exists(path: str) -> bool:
    """Check whether the name exists, even as a broken link."""
    return os.path.lexists(as_bytes(path))


def is_folder(path: str) -> bool:
    """Check whether the path is a folder or a link to one."""
    return os.path.isdir(as_bytes(path))  # noqa: PTH112 - a Path takes no bytes


def relative_name(root: str, location: str) -> str:
    """Return the path relative to the root, with `/`; empty for a path outside the root."""
    top = root.rstrip("/") + "/"
    return location.removeprefix(top) if location.startswith(top) else ""


def real_locations(path: str) -> Iterator[str]:
    """Yield the real path, and the path of the link itself if the last part is a link."""
    leads = real_path(path)
    yield leads
    folder, _, name = path.rstrip("/").rpartition("/")
    if name not in {"", ".", ".."}:
        lies = f"{real_path(folder or '/').rstrip('/')}/{name}"
        if lies != leads:
            yield lies


def with_link_targets(paths: Iterable[str]) -> Iterator[str]:
    """Yield each path, and its real path if that differs."""
    for path in paths:
        yield path
        leads = real_path(path)
        if leads != path:
            yield leads


# The variable that names the base folder, and the default below the home folder.
STATE_BASE = ("XDG_STATE_HOME", ".local/state")
CACHE_BASE = ("XDG_CACHE_HOME", ".cache")
FOLDER_NAME = "bylaw"
_WRITABLE_BY_OTHERS = 0o022


def base_folder(place: tuple[str, str]) -> str:
    """Return the base folder that the environment names; empty if it names none."""
    variable, below_home = place
    named, home = os.environb.get(variable.encode()), user_home()
    return as_text(named) if named else f"{home}/{below_home}" if home else ""


def user_home() -> str:
    """Return the home folder that the environment names; empty if it names none."""
    return as_text(os.environb.get(b"HOME", b"")).rstrip("/")


def named_folder(place: tuple[str, str]) -> str:
    """Return Bylaw's folder, safe or not; empty if the base is not an absolute path."""
    base = base_folder(place)
    return f"{base.rstrip('/')}/{FOLDER_NAME}" if base.startswith("/") else ""


def is_safe_place(place: tuple[str, str], folder: str) -> bool:
    """Check whether a place is outside a folder, or safe inside it. Raises OSError."""
    top = real_path(folder)
    return not is_inside(real_path(base_folder(place)), top) or top == _account_home()


def state_home() -> str:
    """Return the user's state folder, checked against the working folder; empty if not safe."""
    place = named_folder(STATE_BASE)
    try:
        return place if place and is_safe_place(STATE_BASE, ".") else ""
    except OSError:  # the working folder was removed, so its path is unknown
        return ""


def is_only_ours(found: os.stat_result) -> bool:
    """Check that only this user can have written the file."""
    return found.st_uid == os.geteuid() and not found.st_mode & _WRITABLE_BY_OTHERS


def _account_home() -> str:
    import pwd  # noqa: PLC0415 - seldom needed

    try:
        return real_path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return ""
