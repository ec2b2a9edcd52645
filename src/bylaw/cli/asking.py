"""A question → what a person answers on a terminal."""

from __future__ import annotations

import sys

from bylaw.model.errors import BylawError


def agreed(question: str) -> bool:
    """Ask, if a person can see what is asked and answer; BylawError if nobody can."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    if any(stream is None or not stream.isatty() for stream in streams):
        raise BylawError("nobody can be asked here; answer on a terminal, or call with `--yes`")
    sys.stdout.flush()
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
