"""Worker process: read Lua scripts from standard input, write their results to standard output.

Started by its path with FOLDER, which contains lupa, by an interpreter that loads little else.
Every script gets a new Lua runtime, which is prepared before the request arrives.
A request is two lengths, then a script and a JSON object. An answer is one length, then a letter
(`t`rue, `f`alse, `n`il, `e`rror) and the message of an error.
"""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import signal
import sys
import time

# Importing `typing` takes as long as starting the interpreter.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, BinaryIO, Never


# The first file gets the others as arguments.
TEXTS = ("sandbox.lua", "tables.lua", "patterns.lua", "strings.lua")
READY = b"ready"
LENGTH = 4

# Memory for a script in addition to its context, and memory for a context. The second is more than
# the largest input needs, because a runtime that cannot hold its context ends the process.
SCRIPT_MEMORY = 32 << 20
CONTEXT_MEMORY = 192 << 20
PROCESS_MEMORY = 768 << 20
# The process ends itself after this time, in case its parent has died.
SECONDS = 2
MAX_MESSAGE = 200
# Any constant will do: it determines the order of keys.
STRING_HASH_SEED = 1

INTEGERS = range(-(2**63), 2**63)
CONTROLS = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]+")
OUT_OF_MEMORY = "not enough memory"
# The position of an error in the sandbox itself, which is compiled without line numbers.
SANDBOX_POSITION = "?:?: "


class Sandbox:
    """Makes Lua runtimes, each for one script."""

    def __init__(self, lua: Any) -> None:
        self._lua = lua
        strip = lua.LuaRuntime(encoding=None).eval(
            "function(text) return string.dump(load(text, '=', 't'), true) end"
        )
        self._sandbox, *self._parts = (strip(_read(name)) for name in TEXTS)

    def make(self) -> tuple[Any, Callable[..., Any]]:
        """Return a new runtime and the function that runs a script in it."""
        runtime = self._lua.LuaRuntime(
            register_eval=False,
            register_builtins=False,
            attribute_filter=_refuse,
            max_memory=CONTEXT_MEMORY,
            string_hash_seed=STRING_HASH_SEED,
        )
        return runtime, runtime.execute(self._sandbox, *self._parts, mode="b")

    def answer(self, made: tuple[Any, Callable[..., Any]], script: bytes, data: bytes) -> bytes:
        """Run a script and return the answer for it."""
        runtime, run = made
        try:
            context = _context(runtime, data)
        except (ValueError, TypeError, RecursionError):
            return _error_answer("the context is not a JSON object that a script can read")
        runtime.set_max_memory(runtime.get_memory_used() + SCRIPT_MEMORY)
        try:
            ending, *message = run(script, context)
        except self._lua.LuaMemoryError:
            return _error_answer(OUT_OF_MEMORY)
        except self._lua.LuaError as error:
            return _error_answer(str(error))
        if ending == "e":
            return _error_answer(bytes(message).decode(errors="replace"))
        return str(ending).encode()


def _read(name: str) -> bytes:
    folder, _, _ = __file__.rpartition("/")
    with open(f"{folder}/lua/{name}", "rb") as file:  # noqa: PTH123 - pathlib takes longer to import
        return file.read()


def _refuse(*_: object) -> Never:
    raise AttributeError("a script has no Python objects")


def _context(runtime: Any, data: bytes) -> Any:
    try:
        return runtime.table_from(_object(json.loads(data)), recursive=True)
    except OverflowError:
        # Checking every number is slow, and large numbers are rare.
        return runtime.table_from(_object(json.loads(data, parse_int=_number)), recursive=True)


def _object(value: object) -> object:
    if not isinstance(value, dict):
        raise TypeError("the context must be an object")
    return value


def _number(digits: str) -> int | float:
    number = int(digits)
    return number if number in INTEGERS else float(digits)


def _error_answer(message: str) -> bytes:
    if message == OUT_OF_MEMORY:
        message = f"the script used more than {SCRIPT_MEMORY >> 20} MiB of memory"
    line = CONTROLS.sub(" ", message.replace(SANDBOX_POSITION, "")).strip()
    clipped = line if len(line) <= MAX_MESSAGE else line[: MAX_MESSAGE - 1] + "…"
    return b"e" + (clipped or "the script raised an empty error").encode()


def _limit() -> None:
    _at_most(resource.RLIMIT_AS, PROCESS_MEMORY)
    for limit in (
        resource.RLIMIT_CORE,
        resource.RLIMIT_FSIZE,
        resource.RLIMIT_NOFILE,
        resource.RLIMIT_NPROC,
    ):
        _at_most(limit, 0)
    # The parent may have ignored or blocked the signals that end this process.
    ending = (signal.SIGALRM, signal.SIGXCPU)
    for number in ending:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)


def _at_most(limit: int, most: int) -> None:
    _, hard = resource.getrlimit(limit)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(limit, (most, most))


def _start_timer() -> None:
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(time.process_time()) + SECONDS + 1
    if hard == resource.RLIM_INFINITY or soft < hard:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _serve(sandbox: Sandbox, requests: BinaryIO) -> None:
    while True:
        made = sandbox.make()
        lengths = requests.read(2 * LENGTH)
        if len(lengths) < 2 * LENGTH:
            return
        _start_timer()
        script = requests.read(int.from_bytes(lengths[:LENGTH], "big"))
        data = requests.read(int.from_bytes(lengths[LENGTH:], "big"))
        answer = sandbox.answer(made, script, data)
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.write(1, len(answer).to_bytes(LENGTH, "big") + answer)


def main(folder: str) -> None:
    """Answer requests until the input ends."""
    # After the standard library: files next to lupa must not replace parts of it.
    sys.path.append(folder)
    from lupa import lua55  # noqa: PLC0415 - it is in the folder

    sandbox = Sandbox(lua55)
    _limit()
    # Nothing here makes reference cycles, and searching for them is slow in a large context.
    gc.disable()
    os.write(1, READY)
    with open(0, "rb", buffering=1 << 16) as requests:
        _serve(sandbox, requests)


if __name__ == "__main__":
    main(sys.argv[1])
