"""Ask a person on the terminal."""

from __future__ import annotations

import sys

from bylaw.model.errors import BylawError
from bylaw.runtime.known_agents import refuse_agents


def agreed(question: str) -> bool:
    """Ask a yes/no question. BylawError if an input or output is not a terminal."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if any(stream is None or not stream.isatty() for stream in streams):
        raise BylawError("cannot ask for confirmation without a terminal; pass `--yes`")
    sys.stdout.flush()
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def refuse_others(what: str) -> None:
    """BylawError if a coding agent calls, or if there is no terminal."""
    refuse_agents(what)
    if any(stream is None or not stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise BylawError(f"{what} needs a person on a terminal")
