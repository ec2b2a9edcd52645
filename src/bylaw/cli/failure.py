"""Whatever goes wrong → an exit code, and what the user should read on standard error.

0 fine, 1 a mistake in what was given to us, 2 a mistake in the arguments, 3 a bug of ours
with a report to paste, 130 interrupted. Only the standard library's smallest parts are
imported up front, because `bylaw --version` passes through here.
"""

from __future__ import annotations

import os
import sys
from errno import ENOSPC
from io import TextIOWrapper

TYPE_CHECKING = False  # `typing` is heavy here, and type checkers know this name
if TYPE_CHECKING:
    from collections.abc import Callable

    import click

    from bylaw.model.errors import LoadError

MISTAKE = 1
USAGE = 2
BUG = 3
INTERRUPTED = 130

# A message may quote an argument, and that may be long.
MAX_MESSAGE = 1000


def use_utf8() -> None:
    """Both outputs are UTF-8 whatever the locale, and no text makes writing fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def exit_code_of(work: Callable[[], int]) -> int:
    """Do the work and flush its output; any failure is told and becomes an exit code."""
    try:
        code = work()
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        gone = isinstance(error, BrokenPipeError) or error.errno == ENOSPC
        return _output_failed(error) if gone else _tell(error)
    except Exception as error:  # noqa: BLE001 - the outermost place; a bug must not be a traceback
        return _tell(error)
    return code


def _output_failed(error: OSError) -> int:
    # Without this the interpreter flushes once more when it ends, and complains.
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == ENOSPC:
        _say(f"error: cannot write the output: {error.strerror}")
    return MISTAKE


def _tell(error: Exception) -> int:
    import click  # noqa: PLC0415 - not needed by `bylaw --version`

    if isinstance(error, click.exceptions.Exit):
        return error.exit_code  # so `--help` ends, which needs nothing of what follows
    from bylaw.model.errors import BylawError, LoadError  # noqa: PLC0415 - same

    match error:
        case click.exceptions.NoArgsIsHelpError():
            _say(error.format_message())
            return USAGE
        case click.ClickException():
            return _tell_usage(error)
        case click.Abort():
            return INTERRUPTED
        case LoadError():
            return _tell_diagnostics(error)
        case BylawError():
            return _tell_mistake(str(error))
    return _tell_bug(error)


def _tell_usage(error: click.ClickException) -> int:
    context = error.ctx if hasattr(error, "ctx") else None
    if context is not None:
        _say(context.get_usage())
        _say(f"Try `{context.command_path} --help`.")
    _tell_mistake(error.format_message())
    return error.exit_code


def _tell_mistake(message: str) -> int:
    from bylaw.model.visible import clipped, visible  # noqa: PLC0415 - not needed by `--version`

    lines = clipped(message, MAX_MESSAGE).expandtabs(4).split("\n")
    _say("error: " + "\n".join(map(visible, lines)))
    return MISTAKE


def _tell_diagnostics(error: LoadError) -> int:
    from bylaw.tools.printers import text  # noqa: PLC0415 - not needed by `bylaw --version`

    color = sys.stderr is not None and sys.stderr.isatty() and "NO_COLOR" not in os.environ
    _say(text.render(error.diagnostics, color=color).rstrip("\n"))
    return MISTAKE


def _tell_bug(error: Exception) -> int:
    from bylaw.cli.report import bug_report  # noqa: PLC0415 - not needed by `bylaw --version`

    _say(bug_report(error))
    return BUG


def _say(text: str) -> None:
    try:
        if sys.stderr is not None:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
    except OSError:
        sys.stderr = None  # nobody listens any more; the exit code still tells
