"""The report of a bug in Bylaw, for people to paste.

It contains versions, arguments and the traceback, never the environment. The traceback can contain
paths and, in its last line, a part of a value.
"""

from __future__ import annotations

import platform
import sys
from traceback import format_exception

from bylaw.model.display import visible
from bylaw.version import __version__

# Limits, so that deep recursion or a chain of causes does not fill the terminal.
MAX_FRAMES = 30
MAX_LINES = 200


def bug_report(error: BaseException) -> str:
    """Return the text for standard error: a line for people, then the details to paste."""
    return "\n".join(
        [
            f"error: this is a bug in bylaw: {visible(_summary(error))}",
            "please report it with the lines below; read them first: they contain",
            "your arguments, paths of this machine and possibly a part of the input",
            "",
            f"bylaw     {__version__}",
            f"python    {platform.python_implementation()} {platform.python_version()}",
            f"platform  {platform.platform()}",
            f"arguments {sys.argv[1:]!a}",
            *_traceback(error),
        ]
    )


def _summary(error: BaseException) -> str:
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _traceback(error: BaseException) -> list[str]:
    text = "".join(format_exception(error, limit=-MAX_FRAMES))
    lines = [visible(line) for line in text.rstrip("\n").split("\n")]
    return lines if len(lines) <= MAX_LINES else [*lines[: MAX_LINES - 1], "…"]
