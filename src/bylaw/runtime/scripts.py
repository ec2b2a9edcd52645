"""Run Lua scripts in a separate process that stays alive between scripts.

The process is `lua/process.py`. It starts with the first script, starts again after it was killed,
and is killed with the runner.
"""

from __future__ import annotations

import os
import weakref
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Self

from msgspec import UNSET
from msgspec.structs import replace

from bylaw.expr.limits import MAX_SCRIPT_BYTES
from bylaw.model.facts import ScriptResult

if TYPE_CHECKING:
    from bylaw.model.decision import Need, ScriptCall
    from bylaw.model.event import Event
    from bylaw.model.facts import Facts
    from bylaw.runtime.lua.process import LuaProcess

MAX_INPUT = 4 << 20
MAX_KEPT = 512

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
        self._kept: OrderedDict[str, ScriptResult] = OrderedDict()
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
            result = self._recalled(need.key, need.call)
        if result is None:
            return None
        known = event.facts.scripts
        scripts = {} if known is UNSET else known
        return replace(event.facts, scripts={**scripts, need.key: result})

    def close(self) -> None:
        """Kill the process; a later script starts a new one."""
        with self._lock:
            self._drop()

    def after_fork(self) -> None:
        """Reset: another thread may have held the lock or changed the cache during the fork."""
        self._lock, self._process, self._kept = Lock(), None, OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _recalled(self, key: str, call: ScriptCall) -> ScriptResult | None:
        result = self._kept.get(key)
        if result is None:
            result = self._run(call)
        # Whether a script is killed depends on the machine, so its result is not cached.
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
        from bylaw.runtime.lua.process import LuaProcess  # noqa: PLC0415 - few rules have scripts

        try:
            process = self._process = self._process or LuaProcess()
        except OSError:
            return None
        return self._answer(process, script, call.input)

    def _answer(self, process: LuaProcess, script: bytes, context: bytes) -> ScriptResult:
        try:
            answer = process.ask(script, context)
        except OSError:
            self._drop()
            return _KILLED
        except BaseException:
            # The answer may still arrive, and the next call must not get it.
            self._drop()
            raise
        return _VALUES.get(answer) or ScriptResult(error=answer[1:].decode())

    def _drop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None


_RUNNERS: weakref.WeakSet[ScriptRunner] = weakref.WeakSet()


def _after_fork() -> None:
    for runner in list(_RUNNERS):
        runner.after_fork()


os.register_at_fork(after_in_child=_after_fork)
