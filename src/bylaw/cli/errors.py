"""Turn each failure into an exit code and a message on standard error.

Exit codes: 0 success, 1 an error in the input, 2 an error in the arguments, 3 a bug in Bylaw with
a report to paste, 130 interrupted.
`bylaw --version` imports this module, so it imports as little as possible at the top.
"""

from __future__ import annotations

import os
import sys
from errno import ENOSPC
from io import TextIOWrapper

TYPE_CHECKING = False  # importing `typing` is too slow here
if TYPE_CHECKING:
    from collections.abc import Callable

    import click

    from bylaw.model.errors import LoadError


MISTAKE = 1
USAGE = 2
BUG = 3
INTERRUPTED = 130

# A message can quote an argument of any length.
MAX_MESSAGE = 1000


def use_utf8() -> None:
    """Write UTF-8 to both outputs in every locale, and escape text that cannot be encoded."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def exit_code_of(work: Callable[[], int]) -> int:
    """Do the work and flush its output. Print any failure and turn it into an exit code."""
    try:
        code = work()
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        gone = isinstance(error, BrokenPipeError) or error.errno == ENOSPC
        return _handle_output_error(error) if gone else _report_failure(error)
    except Exception as error:  # noqa: BLE001 - outermost handler: a bug gives a report, not a traceback
        return _report_failure(error)
    return code


def _handle_output_error(error: OSError) -> int:
    # Otherwise the interpreter flushes again when it exits, and prints an error.
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error.errno == ENOSPC:
        _to_stderr(f"error: cannot write the output: {error.strerror}")
    return MISTAKE


def _report_failure(error: Exception) -> int:
    import click  # noqa: PLC0415 - not needed by `bylaw --version`

    if isinstance(error, click.exceptions.Exit):
        return error.exit_code  # `--help` exits this way; skip the imports below
    from bylaw.model.errors import BylawError, LoadError  # noqa: PLC0415 - same

    match error:
        case click.exceptions.NoArgsIsHelpError():
            _to_stderr(error.format_message())
            return USAGE
        case click.ClickException():
            return _print_usage(error)
        case click.Abort():
            return INTERRUPTED
        case LoadError():
            return _print_diagnostics(error)
        case BylawError():
            return _print_error(str(error))
    return _print_bug(error)


def _print_usage(error: click.ClickException) -> int:
    context = error.ctx if hasattr(error, "ctx") else None
    if context is not None:
        _to_stderr(context.get_usage())
        _to_stderr(f"Try `{context.command_path} --help`.")
    _print_error(error.format_message())
    return error.exit_code


def _print_error(message: str) -> int:
    from bylaw.model.display import clip_text, visible  # noqa: PLC0415 - not needed by `--version`

    lines = clip_text(message, MAX_MESSAGE).expandtabs(4).split("\n")
    _to_stderr("error: " + "\n".join(map(visible, lines)))
    return MISTAKE


def _print_diagnostics(error: LoadError) -> int:
    from bylaw.model import diagnostic_text  # noqa: PLC0415 - not needed by `bylaw --version`

    color = sys.stderr is not None and sys.stderr.isatty() and "NO_COLOR" not in os.environ
    _to_stderr(diagnostic_text.render(error.diagnostics, color=color).rstrip("\n"))
    return MISTAKE


def _print_bug(error: Exception) -> int:
    from bylaw.cli.bug_report import bug_report  # noqa: PLC0415 - only for a bug

    _to_stderr(bug_report(error))
    return BUG


def _to_stderr(text: str) -> None:
    try:
        if sys.stderr is not None:
            sys.stderr.write(text + "\n")
            sys.stderr.flush()
    except OSError:
        sys.stderr = None  # standard error is closed; the exit code still reports the failure
