"""Tests run as root: for a while nothing more is allowed than to any other user."""

import os
from contextlib import contextmanager

NOBODY = 65534
# Folders of pytest, also where several of it run side by side, and of tests.
_OURS = ("pytest", "popen", "test", "root", "rules")


@contextmanager
def as_somebody_else(folder):
    """Files are closed to us as they are to others; who is not root is somebody else already."""
    if os.geteuid() != 0:
        yield
        return
    for one in (folder, *folder.parents):
        if one.stat().st_uid == 0 and one.name.startswith(_OURS):
            one.chmod(one.stat().st_mode | 0o055)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
