"""One question to us and to a framework that answers it in its own way; no row has a budget.

    python3 -m venv .venv/frameworks
    .venv/frameworks/bin/python -m pip install --requirement bench/frameworks.txt --editable .
    .venv/frameworks/bin/python bench/frameworks.py

Before anything is timed, both sides must refuse the same call and let the same call pass.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from table import Lap, Row, alone, race

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.hosts.python import Engine, load
from bylaw.model.decision import Decision
from bylaw.model.event import ToolAfter, ToolBefore
from bylaw.model.fold import fold
from bylaw.model.session import Session
from bylaw.model.vocabulary import CallStatus, Verdict
from bylaw.runtime.loader import Library  # noqa: TC001 - of one line

# Whether a call of the named tool is refused.
Asked: TypeAlias = Callable[[str], bool]
BIN = Path(sys.executable).parent
SHORT, LONG = 10, 50
QUOTA = 10
FILES = 1_000
ROUNDS_OF_PROCESSES = 15

FLOW = """
<rules>
  <on id="flow" event="pre_tool_call" tool="send_email" if="ever_called('get_inbox')">
    <deny reason="No mail after the inbox was read."/>
  </on>
</rules>
"""
INVARIANT_FLOW = """
raise "No mail after the inbox was read." if:
    (first: ToolCall) -> (second: ToolCall)
    first is tool:get_inbox
    second is tool:send_email
"""
LIMIT = f'<policy>\n<tool name="search"><quota per_session="{QUOTA}"/></tool>\n</policy>\n'
POLICY = """\
---
name: Tests
set:
  - src/{path}.py
  - tests/{path}_test.py
---
{trigger_files} changed without {expected_files}.
"""
CONFIGURATION = """\
repos:
  - repo: local
    hooks:
      - id: tests
        name: tests change with code
        language: system
        entry: ENTRY
        files: ^(src|tests)/
        require_serial: true
"""
PAIRS = """\
import sys
given = set(sys.argv[1:])
missing = [path for path in given if path.startswith("src/")
           and f"tests/{path[4:-3]}_test.py" not in given]
sys.exit(f"without a test: {missing}" if missing else 0)
"""
# What each side says of `src/f1.py` without its test.
REFUSALS = {"ours": "src/f1.py → tests/f1_test.py", "theirs": "without a test: ['src/f1.py']"}


def run() -> list[Row]:
    """All rows."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        return [
            _flow(place, SHORT),
            _flow(place, LONG),
            _limit(place),
            _pairs(place / "repository"),
        ]


def _flow(place: Path, calls: int) -> Row:
    """A call that is forbidden because of an earlier one; where that was not made, it passes."""
    quiet, loud = ["search"] * calls, ["get_inbox", *["search"] * (calls - 1)]
    for tools, refused in ((loud, True), (quiet, False)):
        ours, theirs = _ours_anew(place, FLOW, tools), _invariant(tools)
        if any(side("send_email") is not refused for side in (ours, theirs)):
            raise SystemExit(f"somebody is wrong about send_email after {tools}")
    times = race({side: Lap(side, ["send_email"]) for side in (ours, theirs)})
    inside = "send_email is forbidden once get_inbox was called, which was not; both sides read "
    inside += "everything anew from the first call on. Ours: Engine.decide of each event, as a "
    inside += "map. Theirs: LocalPolicy.a_analyze_pending of the messages; it could ask for more "
    inside += "than the names of tools. A host of ours keeps the session, and decides once"
    name = f"flow, {calls} calls: invariant-ai {version('invariant-ai')}"
    return Row(name, inside, times[ours], times[theirs])


def _limit(place: Path) -> Row:
    """A quota over a session."""
    tools = ["other"] * SHORT
    ours, theirs = _ours(place, LIMIT, tools), _langchain(dict.fromkeys(tools, SHORT))
    used = ["search"] * QUOTA
    beyond = _ours(place, LIMIT, used), _langchain({"search": QUOTA})
    if ours("search") or theirs("search") or not all(side("search") for side in beyond):
        raise SystemExit("somebody counts wrong")
    times = race({side: Lap(side, ["search"]) for side in (ours, theirs)})
    inside = f"at most {QUOTA} calls of search in a session; the first of them. Ours: decide. "
    inside += "Theirs: ToolCallLimitMiddleware.after_model with its counts at hand; it does "
    inside += "nothing else, and the agent around it is not counted"
    name = f"quota: langchain {version('langchain')}"
    return Row(name, inside, times[ours], times[theirs], faster=False)


def _pairs(root: Path) -> Row:
    """Tests must change with code: processes from start to exit."""
    _lay_out(root)
    sides = {
        "ours": [str(BIN / "bylaw"), "policies", "run"],
        "theirs": [str(BIN / "pre-commit"), "run"],
    }
    variables = {**os.environ, "HOME": str(root.parent), "PATH": f"{BIN}:{os.environ['PATH']}"}

    def outcome(command: list[str]) -> tuple[bool, str]:
        done = subprocess.run(
            command, cwd=root, env=variables, capture_output=True, text=True, check=False
        )
        return done.returncode == 0, done.stdout

    def passes(command: list[str]) -> bool:
        return outcome(command)[0]

    _change(root, "src/f1.py")
    for name, command in sides.items():
        # A failure alone would be a refusal, too, whatever failed.
        passed, said = outcome(command)
        if passed or REFUSALS[name] not in said:
            raise SystemExit(f"{name}: no refusal of a change without its test:\n{said}")
    _change(root, "tests/f1_test.py")
    for name, command in sides.items():
        passed, said = outcome(command)
        if not passed:
            raise SystemExit(f"{name}: a change with its test is refused:\n{said}")
    laps = {name: Lap(passes, [command]) for name, command in sides.items()}
    times = race(laps, rounds=ROUNDS_OF_PROCESSES, round_seconds=0.001)
    inside = f"tests must change with code, {FILES:,} files, two staged, nothing missing; one "
    inside += "process from start to exit. Ours: `bylaw policies run` with one policy. Theirs: "
    inside += "`pre-commit run` with one local hook, a script of five lines written for this"
    name = f"changed in pairs: pre-commit {version('pre-commit')}"
    return Row(name, inside, times["ours"], times["theirs"], faster=False)


def _ours(place: Path, text: str, tools: list[str]) -> Asked:
    """In a session in which so much was called."""
    rules, session = RuleSet(_loaded(place, text).in_force()), Session()
    for number, tool in enumerate(tools):
        seq, call = 2 * number + 1, f"c{number}"
        session = fold(session, ToolBefore(tool=tool, call=call, seq=seq), Decision())
        after = ToolAfter(tool=tool, call=call, status=CallStatus.OK, seq=seq + 1)
        session = fold(session, after, Decision())

    def asked(tool: str) -> bool:
        event = ToolBefore(tool=tool, call="new", seq=2 * len(tools) + 1)
        decision = decide(rules, session, event)
        assert isinstance(decision, Decision)
        return decision.verdict is Verdict.DENY

    return asked


def _ours_anew(place: Path, text: str, tools: list[str]) -> Asked:
    """In a new session, in which all that is said to have been called first."""
    engine, numbers = Engine(_loaded(place, text)), count()

    def asked(tool: str) -> bool:
        session = {"session": f"s{next(numbers)}"}
        for number, past in enumerate(tools):
            call = {"tool": past, "call": str(number), **session}
            engine.decide({"kind": "tool.before", **call})
            engine.decide({"kind": "tool.after", "status": "ok", "result": "ok", **call})
        last = {"kind": "tool.before", "tool": tool, "call": "new", **session}
        return engine.decide(last).verdict is Verdict.DENY

    return asked


def _loaded(place: Path, text: str) -> Library:
    path = place / "rules.chatmd"
    path.write_text(text)
    return load(path)


def _invariant(tools: list[str]) -> Asked:
    # By default it gives up on more than a hundred pairs of calls.
    os.environ["INVARIANT_MAX_ITERATIONS"] = "1000000"
    from invariant.analyzer import LocalPolicy  # noqa: PLC0415 - after its limit is set

    policy = LocalPolicy.from_string(INVARIANT_FLOW, optimize=True)
    past: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for number, tool in enumerate(tools):
        past.append(_call_message(tool, str(number)))
        past.append({"role": "tool", "tool_call_id": str(number), "content": "ok"})
    loop = asyncio.new_event_loop()

    def asked(tool: str) -> bool:
        pending = policy.a_analyze_pending(past, [_call_message(tool, "new")])
        return bool(loop.run_until_complete(pending).errors)

    return asked


def _call_message(tool: str, call: str) -> dict[str, Any]:
    function = {"name": tool, "arguments": {}}
    calls = [{"id": call, "type": "function", "function": function}]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def _langchain(counts: dict[str, int]) -> Asked:
    from langchain.agents.middleware import ToolCallLimitMiddleware  # noqa: PLC0415 - it is slow
    from langchain.messages import AIMessage  # noqa: PLC0415 - same

    limit = ToolCallLimitMiddleware(tool_name="search", thread_limit=QUOTA)
    message = AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "new"}])
    state = {"messages": [message], "thread_tool_call_count": counts}

    def asked(_tool: str) -> bool:
        return "messages" in (limit.after_model(state, None) or {})

    return asked


def _lay_out(root: Path) -> None:
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    _git(root, "config", "user.name", "bench")
    _git(root, "config", "user.email", "bench@bench")
    for number in range(FILES // 2):
        for path in (f"src/f{number}.py", f"tests/f{number}_test.py"):
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text("x = 1\n")
    (root / ".deepwork/policies").mkdir(parents=True)
    (root / ".deepwork/policies/tests.md").write_text(POLICY)
    (root / ".pre-commit-config.yaml").write_text(configuration(sys.executable))
    (root / ".git/pairs.py").write_text(PAIRS)
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "begin")
    _git(root, "switch", "-q", "-c", "work")


def configuration(python: str) -> str:
    """What pre-commit reads: a YAML text that holds a line of a shell, whatever the path."""
    return CONFIGURATION.replace("ENTRY", json.dumps(f"{shlex.quote(python)} -I -S .git/pairs.py"))


def _change(root: Path, path: str) -> None:
    (root / path).write_text("x = 2\n")
    _git(root, "add", path)


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(alone("frameworks", run()))
