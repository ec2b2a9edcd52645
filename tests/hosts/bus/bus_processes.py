"""Starts processes that use the files of a bus, and reads what they say."""

import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

USER = [sys.executable, str(Path(__file__).parent / "bus_user.py")]


@contextmanager
def bus_user(what, root, *words):
    """One process that is ready and waits for a line."""
    process = subprocess.Popen(
        [*USER, what, str(root), *map(str, words)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def go(process):
    process.stdin.write("\n")
    process.stdin.flush()


def all_at_once(count, what, root, *words):
    """What each of several processes said that began at the same moment."""
    with ExitStack() as stack:
        users = [stack.enter_context(bus_user(what, root, *words)) for _ in range(count)]
        for user in users:
            go(user)
        said = [user.communicate(timeout=300)[0].split() for user in users]
        assert [user.returncode for user in users] == [0] * count
    return said
