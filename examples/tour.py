"""A short tour of what exists: run by `make run`, ends by itself, needs no network.

Each stop says what is shown, then runs the real command (or the real library) on the spot.
"""

from __future__ import annotations

import shlex
import subprocess
import sys

from bylaw.dialects.yaml import load_yaml
from bylaw.model.decision import Decision
from bylaw.model.errors import LoadError
from bylaw.model.fold import fold
from bylaw.model.session import Session
from bylaw.model.source import SourceFile
from bylaw.model.wire import decode_event
from bylaw.tools.printers import text

COMMANDS = [
    (
        "A guard is a small expression over what happened so far.",
        """bylaw expr "count_calls('shell') >= 3 and last_role == 'user'" --facts -""",
        '{"calls": {"shell": [1, 1, 2]}, "last_role": "user"}',
    ),
    (
        "A misspelt name is found when a file is loaded, with its place and what was meant.",
        """bylaw expr "not ever_caled('read_file')" """,
        "",
    ),
    (
        "A guard that cannot be evaluated says which part failed, with which values.",
        """bylaw expr "arg('limit') < 100" --facts -""",
        '{"event": {"tool": {"args": {"limit": "many"}}}}',
    ),
    (
        "Conditions of TOML rules have Python's syntax, bounded: nothing escapes or explodes.",
        """bylaw expr --dialect toml "9 ** 9 ** 9 > context.turn.number" """,
        "",
    ),
    (
        "Path patterns match and capture.",
        """bylaw match "src/{path}.{py,pyi}" src/app/main.py src/app/main.pyc""",
        "",
    ),
]
RULES = """\
rules:
  - on: created
    path: src/**
    path: lib/**
"""
EVENTS = """\
{"kind": "prompt", "text": "fix the build"}
{"kind": "message", "role": "user", "text": "fix the build"}
{"kind": "turn.start"}
{"kind": "tool.before", "tool": "Bash", "also": ["shell"], "call": "c1"}
{"kind": "tool.after", "tool": "Bash", "also": ["shell"], "call": "c1", "status": "ok"}
{"kind": "turn.end", "text": "done"}
"""


def main() -> None:
    """Walk through the stops."""
    print("Bylaw: what exists so far. Every line below is computed now.\n")
    for what, command, given in COMMANDS:
        show_command(what, command.strip(), given)
    show_yaml()
    show_fold()
    print("Try the verbs yourself: .venv/bin/bylaw --help")


def show_command(what: str, command: str, given: str) -> None:
    """Run one command as a user would."""
    print(f"# {what}")
    print(f"$ {f'echo {shlex.quote(given)} | ' if given else ''}{command}", flush=True)
    arguments = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(arguments, input=given, text=True, capture_output=True, check=False)  # noqa: S603 - our own program
    print(done.stderr + done.stdout)


def show_yaml() -> None:
    """A duplicate key, with both places."""
    print("# YAML is read as YAML 1.2, with a place for every value; a key stands once.")
    try:
        load_yaml(SourceFile("rules/watch.yaml", RULES))
    except LoadError as refused:
        print(text.render(refused.diagnostics))


def show_fold() -> None:
    """A session is a fold over its events."""
    print("# What guards may read is a fold over the events of a session.")
    session = Session()
    for line in EVENTS.splitlines():
        session = fold(session, decode_event(line.encode()), Decision())
    print(f"{len(EVENTS.splitlines())} events: {session.turn - 1} turn completed, ", end="")
    print(f"`shell` was called {session.count_calls('shell')} time\n")


if __name__ == "__main__":
    main()
