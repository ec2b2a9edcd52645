"""A script and its input → how it ended, found out by a process that is kept warm for it.

The process is `lua/worker.py`. It is started when the first script is run, again after one was
killed, and it ends with the runner.
"""

from __future__ import annotations

import os
import sys
import time
import weakref
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Self

from msgspec import UNSET
from msgspec.structs import replace

from bylaw.expr.limits import MAX_SCRIPT_BYTES
from bylaw.expr.lua_syntax import lua_module
from bylaw.model.facts import ScriptResult
from bylaw.runtime.command import Process
from bylaw.runtime.lua.worker import LENGTH, READY

if TYPE_CHECKING:
    from bylaw.model.decision import Need, ScriptCall
    from bylaw.model.event import Event
    from bylaw.model.facts import Facts

# How long a script may take, and how long the process may take to start.
SCRIPT_SECONDS = 1.0
START_SECONDS = 20.0
MAX_INPUT = 4 << 20
MAX_KEPT = 512

_WORKER = Path(__file__).with_name("lua") / "worker.py"
_VALUES = {
    b"t": ScriptResult(value=True),
    b"f": ScriptResult(value=False),
    b"n": ScriptResult(value=None),
}
_KILLED = ScriptResult(killed=True)


class ScriptRunner:
    """Runs scripts one after the other; may be used from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: Process | None = None
        self._kept: OrderedDict[str, ScriptResult] = OrderedDict()
        _RUNNERS.add(self)

    def run(self, call: ScriptCall) -> ScriptResult | None:
        """How the script ended; None if no process can be started for it."""
        with self._lock:
            return self._run(call)

    def gather(self, event: Event, need: Need) -> Facts | None:
        """The facts of the event with the result of a script; None if scripts cannot be run."""
        if need.call is None:
            return None
        with self._lock:
            result = self._recalled(need.key, need.call)
        if result is None:
            return None
        known = event.facts.scripts
        scripts = {} if known is UNSET else known
        return replace(event.facts, scripts={**scripts, need.key: result})

    def close(self) -> None:
        """End the process; a script that is run later starts another."""
        with self._lock:
            self._drop()

    def after_fork(self) -> None:
        """Begin anew: another thread may have held the lock or changed what is kept."""
        self._lock, self._process, self._kept = Lock(), None, OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _recalled(self, key: str, call: ScriptCall) -> ScriptResult | None:
        result = self._kept.get(key)
        if result is None:
            result = self._run(call)
        # Whether a script is killed depends on the machine, so that one is tried again.
        if result is not None and result.killed is UNSET:
            self._kept[key] = result
            self._kept.move_to_end(key)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return result

    def _run(self, call: ScriptCall) -> ScriptResult | None:
        script = call.script.encode(errors="surrogatepass")
        if len(script) > MAX_SCRIPT_BYTES:
            return ScriptResult(error=f"the script is longer than {MAX_SCRIPT_BYTES} bytes")
        if len(call.input) > MAX_INPUT:
            return ScriptResult(error=f"the context is larger than {MAX_INPUT} bytes")
        try:
            process = self._process = self._process or _started()
        except OSError:
            return None
        lengths = (len(part).to_bytes(LENGTH, "big") for part in (script, call.input))
        return self._answer(process, b"".join((*lengths, script, call.input)))

    def _answer(self, process: Process, request: bytes) -> ScriptResult:
        try:
            answer = _asked(process, request)
        except OSError:
            self._drop()
            return _KILLED
        except BaseException:
            # The answer is still to come, and the next call must not get it.
            self._drop()
            raise
        return _VALUES.get(answer) or ScriptResult(error=answer[1:].decode())

    def _drop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


def _started() -> Process:
    folder = _lua_folder()
    if folder is None:
        raise FileNotFoundError("Lua is not installed")
    process = Process([sys.executable, "-I", "-S", str(_WORKER), folder])
    deadline = time.monotonic() + START_SECONDS
    received = b""
    while len(received) < len(READY):
        received += process.receive(deadline)
    return process


def _asked(process: Process, request: bytes) -> bytes:
    deadline = time.monotonic() + SCRIPT_SECONDS
    process.send(request, deadline)
    answer = process.receive(deadline)
    while len(answer) < LENGTH or len(answer) < LENGTH + int.from_bytes(answer[:LENGTH], "big"):
        answer += process.receive(deadline)
    return answer[LENGTH:]


def _lua_folder() -> str | None:
    module = lua_module()
    return None if module is None or module.origin is None else str(Path(module.origin).parents[1])


_RUNNERS: weakref.WeakSet[ScriptRunner] = weakref.WeakSet()


def _after_fork() -> None:
    for runner in list(_RUNNERS):
        runner.after_fork()


os.register_at_fork(after_in_child=_after_fork)
