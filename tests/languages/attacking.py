"""A hostile rule file beside two honest ones: what became of it, and that nothing else came of it."""

import json
import signal
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass

import bylaw

HOSTILE = "hostile"
SECONDS = 60.0  # of this process, load and decisions together; usual is less than 1
HOOKS = {
    "on_query_start": {"kind": "prompt", "text": "hello"},
    "on_turn_start": {"kind": "turn.start"},
    "on_tool_call": {"kind": "tool.before", "tool": "shell", "args": {"cmd": "ls"}},
    "on_tool_complete": {"kind": "tool.after", "tool": "shell", "status": "ok", "result": "done"},
    "on_tool_failure": {"kind": "tool.after", "tool": "shell", "status": "error", "error": "no"},
    "on_turn_end": {"kind": "turn.end", "text": "bye"},
    "on_session_end": {"kind": "session.end"},
}
FACTS = {"user": {"id": "u1", "settings": {"__class__": "a key"}}, "token_budget": 100}
HISTORY = [
    {"kind": "message", "role": "user", "text": "hello {{ 7 * 7 }}"},
    {"kind": "tool.before", "tool": "shell", "call": "c1", "args": {"__init__": 1, "n": [1, 2]}},
    {"kind": "tool.after", "tool": "shell", "call": "c1", "status": "ok", "result": {"k": "v"}},
]


class TooSlowError(BaseException):
    """Raised from outside; nothing may catch it."""


def _stop(_signal, _frame):
    raise TooSlowError(f"more than {SECONDS} s")


@contextmanager
def within(seconds=SECONDS):
    """The body ends in time, in the time of this process."""
    before = signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    begin = time.process_time()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert time.process_time() - begin < seconds


_watching: list[list[str]] = []
_REACHING = ("os.system", "os.exec", "os.fork", "os.spawn", "os.posix_spawn", "os.putenv")
_REACHING += ("subprocess.", "socket.", "ctypes.", "shutil.", "os.remove", "os.mkdir", "os.rename")


def _audit(event, _args):
    if _watching and event.startswith(_REACHING):
        _watching[-1].append(event)


sys.addaudithook(_audit)


@contextmanager
def reaching_nothing():
    """Nothing in the body starts a process, opens a socket or changes a file."""
    reached = []
    _watching.append(reached)
    try:
        yield
    finally:
        _watching.remove(reached)
    assert reached == []


def text(value):
    """A text as TOML writes it."""
    return json.dumps(value, ensure_ascii=False)


def rule(
    rule_id=HOSTILE, *, when="True", action='type = "log"', on="on_tool_complete", priority=100
):
    """A rule file."""
    return (
        f'[rule]\nid = "{rule_id}"\ntrigger = "{on}"\npriority = {priority}\n\n'
        f"[condition]\nexpression = {text(when)}\n\n[action]\n{action}\n"
    )


def log(message):
    """The action that says something."""
    return f'type = "log"\nmessage = {text(message)}'


def witness(rule_id, on, priority):
    """An honest rule."""
    return rule(rule_id, action=log(f"{rule_id} was here"), on=on, priority=priority)


def as_bytes(data):
    """What a file holds."""
    return data if isinstance(data, bytes) else data.encode()


def put(folder, hostile, on="on_tool_complete"):
    """The hostile file between two honest ones, one of them evaluated before and one behind it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{HOSTILE}.toml").write_bytes(as_bytes(hostile))
    (folder / "before.toml").write_text(witness("before", on, 1000))
    (folder / "behind.toml").write_text(witness("behind", on, 1))


@dataclass
class Outcome:
    """What became of the hostile rule: codes of findings and errors, and what it did."""

    codes: list
    effects: list
    statements: list
    engine: bylaw.Engine


def outcome(folder, *, on="on_tool_complete", event=None, history=HISTORY):
    """Load all files and let the event happen at which they are asked."""
    before = sorted(folder.iterdir())
    with within(), reaching_nothing():
        library = bylaw.load(folder)
        engine = bylaw.Engine(library)
        for past in history:
            engine.decide({**past, "facts": FACTS})
        decision = engine.decide(event or {**HOOKS[on], "facts": FACTS})
        own = [line for line in decision.trace if line.uid.endswith(f"#{HOSTILE}")]
        effects = [step for plan in decision.plans if plan.rule == HOSTILE for step in plan.steps]
        said = [step.text for plan in decision.plans for step in plan.steps if step.op == "log"]
        json.dumps([line.detail for line in decision.trace], ensure_ascii=False).encode()
    assert sorted(folder.iterdir()) == before, "a file was made"
    findings = [one for one in library.diagnostics if one.source.path.endswith(f"{HOSTILE}.toml")]
    codes = [one.code for one in findings] + [code_of(line) for line in own if line.detail]
    return Outcome(codes, effects, said, engine)


def code_of(line):
    """The code at the beginning of what a line of the trace says."""
    detail = line.detail.removeprefix("step 1 failed: ")
    return detail.partition(":")[0]


def assert_refused(found, code):
    """It was refused or has failed for the right reason, did nothing, and the others went on."""
    assert code in found.codes, found.codes
    assert found.effects == []
    assert found.statements == ["before was here", "behind was here"]
