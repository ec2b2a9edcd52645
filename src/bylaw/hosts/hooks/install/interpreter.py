"""This process → the interpreter that clients start, if it finds Bylaw when nobody helps it."""

from __future__ import annotations

import sys
import time
from os import fsencode

from bylaw.model.errors import BylawError
from bylaw.model.visible import visible
from bylaw.runtime.command import Process
from bylaw.runtime.paths import as_text

_PATIENCE_S = 30.0
# Some clients put variables into the texts of their settings, quoted or not.
_FILLED_IN = frozenset("${")


def interpreter() -> str:
    """The absolute path of the interpreter that runs us; BylawError if it cannot be written."""
    path = as_text(fsencode(sys.executable or ""))
    if not path.startswith("/") or not path.isprintable() or _FILLED_IN.intersection(path):
        raise BylawError(f"`{visible(path)}` is no path that a client could start")
    return path


def refuse_interpreter(path: str) -> None:
    """BylawError if it does not find Bylaw without our environment."""
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
            f"`{visible(path)} -I -m bylaw` does not start, so no client could call it; "
            "install Bylaw into an environment of its own, such as one of `venv` or `pipx`"
        )
