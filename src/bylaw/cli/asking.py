"""A question → what a person answers on a terminal."""

from __future__ import annotations

import sys

from bylaw.model.errors import BylawError
from bylaw.runtime.known_agents import refuse_agents


def agreed(question: str) -> bool:
    """Ask, if a person can see what is asked and answer; BylawError if nobody can."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if any(stream is None or not stream.isatty() for stream in streams):
        raise BylawError("nobody can be asked here; answer on a terminal, or call with `--yes`")
    sys.stdout.flush()
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def refuse_others(what: str) -> None:
    """BylawError if nobody can be looking at this, or an agent is at work."""
    refuse_agents(what)
    if any(stream is None or not stream.isatty() for stream in (sys.stdin, sys.stdout)):
        raise BylawError(f"{what} is for a person on a terminal; call it there")
