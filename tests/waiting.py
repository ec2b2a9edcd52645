"""Whether processes are still there, waiting until they are not, and which files are open."""

import time
from pathlib import Path


def state(pid):
    """The letter that Linux has for a process; a zombie still has one, `Z`."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()[0]


def wait_until_gone(pid, seconds=300):
    """Wait until a process ends, and return whether it did; its parent may still have to reap it."""
    deadline = time.monotonic() + seconds
    while state(pid) not in (None, "Z"):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def open_files():
    """What this process holds open; listing it holds one more."""
    return {entry.name for entry in Path("/proc/self/fd").iterdir()}
