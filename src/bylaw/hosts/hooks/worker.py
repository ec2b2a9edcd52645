"""The child that judges one event of a client: bytes in, a packed answer into a pipe."""

from __future__ import annotations

import os
from functools import partial
from time import sleep
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.adapters import adapter_named
from bylaw.hosts.hooks.front import OPEN, pack, pack_failure
from bylaw.hosts.hooks.handling import answered, heard_from, opens_on_failure
from bylaw.model.errors import BylawError, LoadError
from bylaw.runtime.effects import SPEECH

if TYPE_CHECKING:
    from bylaw.hosts.hooks.shape import Output


def answer(host: str, event: str, data: bytes, writing: int, linger_s: float = 0) -> None:
    """Judge an event, and write what the client is answered, or why it cannot be.

    For `linger_s` the journal stays open then: as long as somebody has it open, its log need not
    be made anew, which costs more than all the rest.
    """
    if host not in SPEECH:
        _write(writing, pack_failure(f"there is no host `{host}`; known: {', '.join(SPEECH)}"))
        return
    adapter = adapter_named(host)
    try:
        heard = heard_from(adapter, event, data)
        if opens_on_failure(heard):
            _write(writing, OPEN)
        answered(adapter, heard, partial(_answer, writing, linger_s))
    except BylawError as problem:
        _write(writing, pack_failure(_in_words(problem)))


def _in_words(problem: BylawError) -> str:
    if not isinstance(problem, LoadError) or not problem.diagnostics:
        return str(problem)
    first = problem.diagnostics[0]
    line = first.source.position(first.span.start).line
    return f"{first.source.path}:{line}: {first.headline}"


def _answer(writing: int, linger_s: float, output: Output) -> None:
    _write(writing, pack(output))
    if linger_s:
        os.close(writing)
        sleep(linger_s)


def _write(writing: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(writing, left) :]
