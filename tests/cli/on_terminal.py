"""`bylaw` as a process that a person calls, with a real terminal if need be."""

import os
import pty
import subprocess
import sys

# Nobody asks who started it: an agent may be running these tests.
UNASKED = """
import sys
from bylaw.cli import main
from bylaw.runtime import known_agents

known_agents.ancestors = lambda: ()
sys.exit(main())
"""
PERSON = [sys.executable, "-c", UNASKED]


def call(folder, *words, program=PERSON):
    """What comes of a call, without a terminal."""
    return subprocess.run(
        [*program, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


def on_terminal(folder, words, answer):
    """What is shown and the exit code, if that is typed as soon as the question stands there."""
    main, side = pty.openpty()
    with subprocess.Popen(
        [*PERSON, *words], cwd=folder, stdin=side, stdout=side, stderr=side
    ) as process:
        os.close(side)
        shown = b""
        while piece := _read(main):
            shown += piece
            if shown.endswith(b"[y/N] "):
                os.write(main, answer)
    os.close(main)
    return shown.decode().replace("\r\n", "\n"), process.returncode


def _read(descriptor):
    try:
        return os.read(descriptor, 1024)
    except OSError:  # the other side is closed
        return b""
