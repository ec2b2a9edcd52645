"""What one hook of a coding agent costs, as the process that the client starts.

All sides judge the same call in the same repository with 20 rules that it does not break. Before
anything is timed, every side that can must refuse a call that breaks one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from table import Lap, Row, alone, race

from bylaw.hosts.hooks.resident_client import SOCKET

if TYPE_CHECKING:
    from collections.abc import Iterator

BIN = Path(sys.executable).parent
IDLE = [sys.executable, "-I", "-S", "-c", "pass"]
SHELL = ["/bin/sh", "-c", ":"]
HOOKIFY = [sys.executable, "-I", str(Path(__file__).with_name("hookify.py"))]
# What the engine stands on: a process that judges by itself has to import it, whatever we do.
LIBRARIES = [sys.executable, "-I", "-c", "import hashlib, json, msgspec, sqlite3, tomllib"]
BYLAW = [sys.executable, "-I", "-m", "bylaw", "hook", "claude", "PreToolUse"]
DEEPWORK = [str(BIN / "deepwork"), "hook", "rules_check"]
INSTALL = ".venv/bin/python bench/install_peers.py"
RULES = 20
STARTS = 40
AT_MOST = 7
AT_MOST_GROWTH = 1.2
FEW, MANY = 10, 10_000


def run() -> list[Row]:
    """All sides in turn, many times; the best of each."""
    with tempfile.TemporaryDirectory(prefix="bylaw-bench-") as folder:
        root = Path(folder, "repository")
        _lay_out(root)
        with _home(Path(folder, "home")) as home:
            return [*_processes(root, home), *_growth(root, home)]


def _processes(root: Path, home: dict[str, str]) -> Iterator[Row]:
    quiet, loud = _payload(root, "ls -l"), _payload(root, "rm -rf build-7")
    alone = {**home, "BYLAW_RESIDENT": "0"}
    sides = {
        "sh -c :": (SHELL, home),
        "python -I -S -c pass": (IDLE, home),
        "resident": (BYLAW, home),
        "alone": (BYLAW, alone),
        "libraries": (LIBRARIES, home),
        f"hookify-style script, {RULES} rules": (HOOKIFY, home),
        "deepwork 0.5.1, its hook": (DEEPWORK, home),
    }
    for name in ("resident", "alone", f"hookify-style script, {RULES} rules"):
        command, variables = sides[name]
        if b'"deny"' not in _output(command, root, variables, loud):
            raise SystemExit(f"{name} lets a forbidden call run")
    _await_resident(home)
    installed = {name: side for name, side in sides.items() if Path(side[0][0]).exists()}
    for name in sides.keys() - installed.keys():
        print(f"hook, {name}: not installed; `{INSTALL}` brings it")
    laps = {
        name: Lap(lambda _, c=command, v=variables: _output(c, root, v, quiet), [None])
        for name, (command, variables) in installed.items()
    }
    times = race(laps, rounds=STARTS, round_seconds=0.001)
    inside = f"one process from start to exit, {STARTS} of each in turn; {RULES} rules with a "
    inside += "condition each, unchanged; ours reads them, decides, and commits to the journal"
    ours, idle = times["resident"], times["python -I -S -c pass"]
    yield Row("hook, idle interpreter", inside, ours, idle, AT_MOST, faster=False)
    without = "the same without the resident process that has everything imported, as the very "
    without += "first hook is: the next row is the part of it that is not ours"
    yield Row("first hook, idle interpreter", without, times["alone"], idle, AT_MOST, faster=False)
    floor = "an interpreter that imports what the engine stands on, and nothing of ours; no budget"
    yield Row("libraries, idle interpreter", floor, times["libraries"], idle, faster=False)
    for name in times.keys() - {"resident", "alone", "libraries", "python -I -S -c pass"}:
        yield Row(f"hook, {name}", "the same; no budget", ours, times[name], faster=False)


def _growth(root: Path, home: dict[str, str]) -> Iterator[Row]:
    """The cost of an event must not depend on how long its session is."""
    for name, events in (("few", FEW), ("many", MANY)):
        _fill(root, name, events)
    payloads = {name: _payload(root, "ls -l", name) for name in ("few", "many")}
    _await_resident(home)
    laps = {
        name: Lap(lambda _, d=data: _output(BYLAW, root, home, d), [None])
        for name, data in payloads.items()
    }
    times = race(laps, rounds=STARTS, round_seconds=0.001)
    inside = f"one hook in a session of {MANY:,} events beside one of {FEW}, as processes"
    yield Row("hook, long session", inside, times["many"], times["few"], AT_MOST_GROWTH, False)


def _fill(root: Path, session: str, events: int) -> None:
    """A session of so many events, written in this process."""
    from bylaw.hosts.python import Engine, load  # noqa: PLC0415 - only here

    here = Path.cwd()
    os.chdir(root)
    try:
        with Engine(load(), journal=True) as engine:
            for number in range(events // 2):
                call = {"tool": "Bash", "also": ["shell"], "call": str(number)}
                about = {"session": f"claude:{session}", "args": {"command": "ls"}, **call}
                engine.submit({"kind": "tool.before", **about})
                engine.submit({"kind": "tool.after", "status": "ok", "result": "", **about})
    finally:
        os.chdir(here)


def _lay_out(root: Path) -> None:
    (root / ".claude").mkdir(parents=True)
    (root / "bylaw.toml").write_text('[[book]]\npath = "guard.chatmd"\n')
    rules = "".join(map(_rule, range(RULES)))
    (root / "guard.chatmd").write_text(f"<rules>\n{rules}</rules>\n")
    for number in range(RULES):
        head = f"enabled: true\npattern: rm -rf build-{number}\\b"
        text = f"---\n{head}\n---\nkeep build-{number}\n"
        (root / f".claude/hookify.no-{number}.local.md").write_text(text)


def _rule(number: int) -> str:
    condition = f'arg("command") == "rm -rf build-{number}"'
    return (
        f'<on id="no-{number}" event="pre_tool_call" tool="shell" if=\'{condition}\'>'
        f'<deny reason="keep build-{number}"/></on>\n'
    )


@contextmanager
def _home(folder: Path) -> Iterator[dict[str, str]]:
    """An environment of its own; the resident in it ends when the folder goes."""
    folder.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    try:
        yield {**kept, "HOME": str(folder)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _await_resident(home: dict[str, str]) -> None:
    socket = Path(home["HOME"], ".local/state/bylaw", SOCKET)
    until = time.monotonic() + 30
    while not socket.exists():
        if time.monotonic() > until:
            raise SystemExit("the resident does not come up")
        time.sleep(0.1)


def _payload(root: Path, command: str, session: str = "bench") -> bytes:
    about = {"session_id": session, "cwd": str(root), "hook_event_name": "PreToolUse"}
    call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "1"}
    return json.dumps({**about, **call}).encode()


def _output(command: list[str], root: Path, variables: dict[str, str], data: bytes) -> bytes:
    done = subprocess.run(
        command, cwd=root, input=data, capture_output=True, env=variables, check=False
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(alone("hooks", run()))
