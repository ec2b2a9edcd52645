"""The interpreter that clients start, and the check that it finds Bylaw by itself."""

from __future__ import annotations

import sys
import time
from os import fsencode

from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.command import Process
from bylaw.runtime.paths import as_text

_PATIENCE_S = 30.0
# Some clients replace variables in the texts of their settings, even in quotes.
_FILLED_IN = frozenset("${")


def interpreter() -> str:
    """Return the absolute path of the interpreter that runs Bylaw.

    Raises BylawError if the path cannot be written into a configuration.
    """
    path = as_text(fsencode(sys.executable or ""))
    if not path.startswith("/") or not path.isprintable() or _FILLED_IN.intersection(path):
        raise BylawError(f"`{visible(path)}` is not a path that clients can start")
    return path


def refuse_interpreter(path: str) -> None:
    """Raise BylawError if an interpreter does not find Bylaw without our environment."""
    process = Process([path, "-I", "-m", "bylaw", "--version"])
    try:
        process.hang_up()
        code = process.exit_code(time.monotonic() + _PATIENCE_S)
    except OSError:
        code = 1
    finally:
        process.kill()
    if code:
        raise BylawError(
            f"`{visible(path)} -I -m bylaw` does not start, so clients cannot run it; "
            "install Bylaw in an environment of its own, for example with `pipx` or `venv`"
        )
