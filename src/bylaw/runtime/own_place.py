"""Find the user's state and cache folders. Imports almost nothing, because hooks use it.

A folder that a repository could write is not safe. So a folder inside the root is refused, unless
the root is the home of this account: all files there belong to the user. The check reads the home
from the password database, not from `HOME`, because a repository could set `HOME`.
"""

from __future__ import annotations

import os

from bylaw.runtime.paths import as_text, lies_in, real_path

# The variable that names the base folder, and the default below the home folder.
STATE = ("XDG_STATE_HOME", ".local/state")
CACHE = ("XDG_CACHE_HOME", ".cache")
OURS = "bylaw"
_WRITABLE_BY_OTHERS = 0o022


def base_of(place: tuple[str, str]) -> str:
    """Return the base folder that the environment names; empty if it names none."""
    variable, below_home = place
    named, home = os.environb.get(variable.encode()), user_home()
    return as_text(named) if named else f"{home}/{below_home}" if home else ""


def user_home() -> str:
    """Return the home folder that the environment names; empty if it names none."""
    return as_text(os.environb.get(b"HOME", b"")).rstrip("/")


def named_place(place: tuple[str, str]) -> str:
    """Return Bylaw's folder, safe or not; empty if the base is not an absolute path."""
    base = base_of(place)
    return f"{base.rstrip('/')}/{OURS}" if base.startswith("/") else ""


def is_beyond(place: tuple[str, str], folder: str) -> bool:
    """Check whether a place is outside a folder, or safe inside it. Raises OSError."""
    top = real_path(folder)
    return not lies_in(real_path(base_of(place)), top) or top == _account_home()


def state_home() -> str:
    """Return the user's state folder, checked against the working folder; empty if not safe."""
    place = named_place(STATE)
    try:
        return place if place and is_beyond(STATE, ".") else ""
    except OSError:  # the working folder was removed, so its path is unknown
        return ""


def is_own(found: os.stat_result) -> bool:
    """Check that only this user can have written the file."""
    return found.st_uid == os.geteuid() and not found.st_mode & _WRITABLE_BY_OTHERS


def _account_home() -> str:
    import pwd  # noqa: PLC0415 - seldom needed

    try:
        return real_path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return ""
