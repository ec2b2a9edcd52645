"""Where Bylaw keeps things for one user: found with next to nothing imported, for hooks ask too.

Only what a repository cannot write counts. So a place inside of the folder in question is none,
unless that folder is the home of this account: whatever lies there is the user's own. What `HOME`
says is not asked for that: a repository may be put in its place.
"""

from __future__ import annotations

import os

from bylaw.runtime.paths import as_text, lies_in, real_path

# The variable that names such a place, and where it lies below the home if there is none.
STATE = ("XDG_STATE_HOME", ".local/state")
CACHE = ("XDG_CACHE_HOME", ".cache")
OURS = "bylaw"
_WRITABLE_BY_OTHERS = 0o022


def base_of(place: tuple[str, str]) -> str:
    """The folder above ours, as the environment names it; empty if it does not."""
    variable, below_home = place
    named, home = os.environb.get(variable.encode()), user_home()
    return as_text(named) if named else f"{home}/{below_home}" if home else ""


def user_home() -> str:
    """The home of the user, as the environment names it; empty if it does not."""
    return as_text(os.environb.get(b"HOME", b"")).rstrip("/")


def named_place(place: tuple[str, str]) -> str:
    """Our folder, safe or not; empty if none is named by an absolute path."""
    base = base_of(place)
    return f"{base.rstrip('/')}/{OURS}" if base.startswith("/") else ""


def is_beyond(place: tuple[str, str], folder: str) -> bool:
    """Whether a place lies outside of a folder, or is safe in it all the same; OSError."""
    top = real_path(folder)
    return not lies_in(real_path(base_of(place)), top) or top == _account_home()


def state_home() -> str:
    """The user's state folder, seen from the working folder; empty if there is no safe place."""
    place = named_place(STATE)
    try:
        return place if place and is_beyond(STATE, ".") else ""
    except OSError:  # the working folder is gone, and nobody can tell where it lay
        return ""


def is_own(found: os.stat_result) -> bool:
    """Whether nobody but this user can have written it."""
    return found.st_uid == os.geteuid() and not found.st_mode & _WRITABLE_BY_OTHERS


def _account_home() -> str:
    import pwd  # noqa: PLC0415 - seldom needed

    try:
        return real_path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return ""
