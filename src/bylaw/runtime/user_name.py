"""The name of this user for records. It proves nothing."""

from __future__ import annotations

import os
import pwd


def user_name() -> str:
    """Return the account name, or the user id if it has no name."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
