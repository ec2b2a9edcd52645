"""Run Lua scripts in a separate process that stays alive between scripts.

The process is `lua_worker.py`. It starts with the first script, starts again after it was killed,
and is killed with the runner.
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
from bylaw.expr.lua import lua_module
from bylaw.model.facts import ScriptResult
from bylaw.runtime.lua_worker import LENGTH, READY
from bylaw.runtime.sandbox.command import Process

if TYPE_CHECKING:
    from bylaw.model.decision import Need, ScriptCall
    from bylaw.model.event import Event
    from bylaw.model.facts import Facts

MAX_INPUT = 4 << 20
MAX_CACHED = 512

_VALUES = {
    b"t": ScriptResult(value=True),
    b"f": ScriptResult(value=False),
    b"n": ScriptResult(value=None),
}
_KILLED = ScriptResult(killed=True)


class ScriptRunner:
    """Runs scripts one after the other; threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: LuaProcess | None = None
        self._cache: OrderedDict[str, ScriptResult] = OrderedDict()
        _RUNNERS.add(self)

    def run(self, call: ScriptCall) -> ScriptResult | None:
        """Run a script and return its result; None if no process can be started."""
        with self._lock:
            return self._run(call)

    def gather(self, event: Event, need: Need) -> Facts | None:
        """Return the facts of the event with the script's result; None if it could not run."""
        if need.call is None:
            return None
        with self._lock:
            result = self._cached_result(need.key, need.call)
        if result is None:
            return None
        known = event.facts.scripts
        scripts = {} if known is UNSET else known
        return replace(event.facts, scripts={**scripts, need.key: result})

    def close(self) -> None:
        """Kill the process; a later script starts a new one."""
        with self._lock:
            self._kill_process()

    def after_fork(self) -> None:
        """Reset: another thread may have held the lock or changed the cache during the fork."""
        self._lock, self._process, self._cache = Lock(), None, OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cached_result(self, key: str, call: ScriptCall) -> ScriptResult | None:
        result = self._cache.get(key)
        if result is None:
            result = self._run(call)
        # Whether a script is killed depends on the machine, so its result is not cached.
        if result is not None and result.killed is UNSET:
            self._cache[key] = result
            self._cache.move_to_end(key)
        if len(self._cache) > MAX_CACHED:
            self._cache.popitem(last=False)
        return result

    def _run(self, call: ScriptCall) -> ScriptResult | None:
        script = call.script.encode(errors="surrogatepass")
        if len(script) > MAX_SCRIPT_BYTES:
            return ScriptResult(error=f"the script is longer than {MAX_SCRIPT_BYTES} bytes")
        if len(call.input) > MAX_INPUT:
            return ScriptResult(error=f"the context is larger than {MAX_INPUT} bytes")

        try:
            process = self._process = self._process or LuaProcess()
        except OSError:
            return None
        return self._answer(process, script, call.input)

    def _answer(self, process: LuaProcess, script: bytes, context: bytes) -> ScriptResult:
        try:
            answer = process.ask(script, context)
        except OSError:
            self._kill_process()
            return _KILLED
        except BaseException:
            # The answer may still arrive, and the next call must not get it.
            self._kill_process()
            raise
        return _VALUES.get(answer) or ScriptResult(error=answer[1:].decode())

    def _kill_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


_RUNNERS: weakref.WeakSet[ScriptRunner] = weakref.WeakSet()


def _after_fork() -> None:
    for runner in list(_RUNNERS):
        runner.after_fork()


os.register_at_fork(after_in_child=_after_fork)


# Time limits for a script and for the start of the process.
SCRIPT_SECONDS = 1.0
START_SECONDS = 20.0
_WORKER = Path(__file__).with_name("lua_worker.py")


class LuaProcess:
    """A worker process that is ready; OSError if it cannot be started."""

    def __init__(self) -> None:
        folder = _lua_folder()
        if folder is None:
            raise FileNotFoundError("Lua is not installed")
        self._process = Process([sys.executable, "-I", "-S", str(_WORKER), folder])
        deadline = time.monotonic() + START_SECONDS
        received = b""
        while len(received) < len(READY):
            received += self._process.receive(deadline)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def ask(self, script: bytes, context: bytes) -> bytes:
        """Send a script and its context and return the answer; OSError if none arrives in time."""
        lengths = (len(part).to_bytes(LENGTH, "big") for part in (script, context))
        deadline = time.monotonic() + SCRIPT_SECONDS
        self._process.send(b"".join((*lengths, script, context)), deadline)
        answer = self._process.receive(deadline)
        while len(answer) < LENGTH or len(answer) < LENGTH + int.from_bytes(answer[:LENGTH], "big"):
            answer += self._process.receive(deadline)
        return answer[LENGTH:]

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()


def _lua_folder() -> str | None:
    module = lua_module()
    return None if module is None or module.origin is None else str(Path(module.origin).parents[1])
