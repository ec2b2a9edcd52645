"""Where Bylaw keeps things for one user, found with next to nothing imported.

Only what a repository cannot write counts: a folder below the one in which we are called is none,
unless that is the user's own home.
"""

from __future__ import annotations

import os

_OTHERS = 0o022


def state_home() -> str:
    """The user's state folder of Bylaw; empty if there is no safe place."""
    user = os.environ.get("HOME") or ""
    home = os.environ.get("XDG_STATE_HOME") or (f"{user}/.local/state" if user else "")
    if not home.startswith("/"):
        return ""
    here = os.path.realpath(".")
    inside = f"{os.path.realpath(home)}/".startswith(f"{here.rstrip('/')}/")
    if inside and os.path.realpath(user or "/nowhere") != here:
        return ""
    return f"{home.rstrip('/')}/bylaw"


def is_own(found: os.stat_result) -> bool:
    """Whether nobody but this user can have written it."""
    return found.st_uid == os.geteuid() and not found.st_mode & _OTHERS
