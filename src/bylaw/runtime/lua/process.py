"""Start the process that runs `worker.py`, and talk to it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from bylaw.expr.lua_syntax import lua_module
from bylaw.runtime.command import Process
from bylaw.runtime.lua.worker import LENGTH, READY

# Time limits for a script and for the start of the process.
SCRIPT_SECONDS = 1.0
START_SECONDS = 20.0
_WORKER = Path(__file__).with_name("worker.py")


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
