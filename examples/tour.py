"""A short tour of what exists: run by `make run`, ends by itself, needs no network.

Each stop says what is shown, then runs the real command (or the real library) on the spot.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import bylaw
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
CHAT = "examples/chatmd/read-before-write.chatmd"
TURNS = (
    '{"text": "A patch.", "tool_calls": [{"name": "apply_patch", "args": {"input": "a guess"}}]}',
    '{"text": "I read it.", "tool_calls": [{"name": "read_file", "args": {"file": "notes.txt"}}]}',
    '{"text": "Now I can patch it."}',
)
RULES = "examples/toml-rules"
EVENTS = (
    '{"kind": "prompt", "text": "fix the build"}',
    '{"kind": "turn.start", "tokens": 85000, "facts": {"token_budget": 100000}}',
    '{"kind": "tool.after", "tool": "make", "status": "error", "error": "exit 2"}',
    '{"kind": "tool.after", "tool": "make", "status": "error", "error": "exit 2"}',
    '{"kind": "tool.after", "tool": "make", "status": "error", "error": "exit 2"}',
)
BROKEN = """\
[rule]
id = "token-budget"
trigger = "on_turn_strat"
prioirty = 5

[condition]
expression = "context.turn.token_useage > 0.8"

[action]
type = "notify_self"
message = "Used {{ context.turn.token_usage }"
"""


def main() -> None:
    """Walk through the stops."""
    print("Bylaw: what exists so far. Every line below is computed now.\n")
    for what, command, given in COMMANDS:
        show_command(what, command.strip(), given)
    show_check()
    show_rules()
    show_chat()
    print("Try the verbs yourself: .venv/bin/bylaw --help")


def show_command(what: str, command: str, given: str) -> None:
    """Run one command as a user would."""
    print(f"# {what}")
    print(f"$ {f'echo {shlex.quote(given)} | ' if given else ''}{command}", flush=True)
    arguments = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(arguments, input=given, text=True, capture_output=True, check=False)  # noqa: S603 - our own program
    print(done.stderr + done.stdout)


def show_check() -> None:
    """Every problem of a rule file at once."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "token-budget.toml"
        path.write_text(BROKEN, encoding="utf-8")
        print("# A rule file with four mistakes: all are found, each with its place.")
        print("$ bylaw check token-budget.toml")
        print(text.render(bylaw.load(path).diagnostics).replace(f"{folder}/", ""))


def show_rules() -> None:
    """A session under the example rules, recorded and carried out."""
    print(f"# A session under the rules of {RULES}: what the agent is told, and when.")
    with bylaw.Engine(bylaw.load(RULES)) as engine:
        for line in EVENTS:
            reply = engine.submit(json.loads(line))
            print(f"{line[:66]}")
            for message in reply.messages:
                print(f"    told: {message.text}")
    print()


def show_chat() -> None:
    """A chat under its own rules; a script speaks for the model."""
    chat = Path(CHAT).read_text(encoding="utf-8")
    with TemporaryDirectory() as folder, chdir(folder):
        Path("main.chatmd").write_text(chat, encoding="utf-8")
        Path("notes.txt").write_text("The house was built in 1780.\n", encoding="utf-8")
        Path("turns.jsonl").write_text("\n".join(TURNS), encoding="utf-8")
        what = f"A chat under the rules of {CHAT}: everything ends up in its file."
        show_command(what, "bylaw chat main.chatmd --model script:turns.jsonl", "")


if __name__ == "__main__":
    main()
