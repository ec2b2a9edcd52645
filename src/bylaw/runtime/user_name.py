"""This user → a name for records; it proves nothing."""

from __future__ import annotations

import os
import pwd


def user_name() -> str:
    """The name of the account, or its number."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
