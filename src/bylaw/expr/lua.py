"""Check the syntax of Lua scripts, without running them.

Lua is an optional dependency, so it is imported only if it is needed.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.expr.limits import MAX_SCRIPT_BYTES
from bylaw.model.display import clip_text

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

MAX_MEMORY = 32 << 20
MAX_MESSAGE = 200

_PLACE = re.compile(r"script:([0-9]+): (.*)", re.DOTALL)


class LuaProblem(Struct, frozen=True):
    """The syntax error of a script, and its line."""

    line: int
    message: str


@cache
def lua_module() -> ModuleSpec | None:
    """Return the spec of the module that runs Lua, or None if it is not installed."""
    try:
        return find_spec("lupa.lua55")
    except ModuleNotFoundError:
        return None


def lua_available() -> bool:
    """Whether scripts can be checked and run."""
    return lua_module() is not None


def lua_problem(text: str) -> LuaProblem | None:
    """Return the syntax error of a script, or None; Lua must be available."""
    from lupa import lua55  # noqa: PLC0415 - an optional dependency

    script = text.encode(errors="surrogatepass")
    if len(script) > MAX_SCRIPT_BYTES:
        return LuaProblem(1, f"the script is longer than {MAX_SCRIPT_BYTES} bytes")
    runtime = lua55.LuaRuntime(register_eval=False, register_builtins=False, max_memory=MAX_MEMORY)
    try:
        runtime.compile(script, name="=script", mode="t")
    except lua55.LuaMemoryError:
        return LuaProblem(1, "the script needs too much memory")
    except lua55.LuaSyntaxError as error:
        return _problem(str(error))
    return None


def _problem(message: str) -> LuaProblem:
    found = _PLACE.search(message)
    line, text = (int(found[1]), found[2]) if found else (1, message)
    return LuaProblem(line, clip_text(" ".join(text.split()), MAX_MESSAGE))
