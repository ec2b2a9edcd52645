"""`bylaw` as a process that a person calls, with a real terminal if need be."""

import subprocess
import sys

from own_session import SHELL, Terminal

BYLAW = [sys.executable, "-m", "bylaw"]
QUESTION = "[y/N] "

# Nobody asks who started it: an agent may be running these tests.
UNASKED = """
import sys
from bylaw.cli import main
from bylaw.hosts.clients import caller

caller.ancestors = lambda: ()
sys.exit(main())
"""
PERSON = [sys.executable, "-c", UNASKED]


def call(folder, *words, program=PERSON):
    """What comes of a call, without a terminal."""
    return subprocess.run(
        [*program, *words], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


def on_terminal(folder, words, answer, **more):
    """What is shown and the exit code, if that is typed as soon as the question stands there."""
    with Terminal([*SHELL, *BYLAW, *words], folder=folder, **more) as terminal:
        if terminal.until(QUESTION).endswith(QUESTION):
            terminal.type(answer)
        return terminal.rest(), terminal.process.returncode
