"""Run a command: check it, isolate it where that works, and supervise it until it ends."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING

from bylaw.runtime.command import Process
from bylaw.runtime.watched import bubblewrap, watcher
from bylaw.runtime.watched.checks import checked, find_program
from bylaw.runtime.watched.isolation import IsolatedBy, Isolation
from bylaw.runtime.watched.order import RefusedError
from bylaw.runtime.watched.request import request
from bylaw.runtime.watched.result import CommandResult, Ending
from bylaw.runtime.watched.watch import END_SECONDS, Watch, first_line, not_started

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.runtime.watched.cancellation import Cancellation
    from bylaw.runtime.watched.checks import Checked
    from bylaw.runtime.watched.order import Command

# A machine under load may answer slowly; no command runs meanwhile.
PROBE_SECONDS = 30.0

_WATCHER = str(Path(__file__).with_name("watcher.py"))
_MS = 1000


def run(
    command: Command,
    cancellation: Cancellation | None = None,
    started: Callable[[], None] | None = None,
) -> CommandResult:
    """Run a command until it ends; every failure is reported in the result.

    `started` is called when the program runs.
    """
    begun = time.monotonic()
    if cancellation is not None and cancellation.cancelled:
        return CommandResult(command=command, ending=Ending.CANCELLED)
    try:
        with checked(command) as ready:
            return _run(command, ready, begun, cancellation, started)
    except RefusedError as refused:
        return CommandResult.refused(command, refused.refusal, str(refused))


def isolation() -> Isolation:
    """Determine by a trial how commands are isolated here; the answer is cached.

    RefusedError if bubblewrap is installed and does not answer in time. It may still work, so
    nothing runs without it, and the next call tries again.
    """
    return _isolation(bubblewrap.PROGRAM)


def _run(
    command: Command,
    ready: Checked,
    begun: float,
    cancellation: Cancellation | None,
    started: Callable[[], None] | None,
) -> CommandResult:
    how = isolation()
    isolated = how.by is IsolatedBy.BUBBLEWRAP
    roots = tuple(root.path for root in ready.roots)
    prefix = bubblewrap.arguments(find_program(bubblewrap.PROGRAM), roots) if isolated else []
    with _watcher(prefix) as (process, status):
        watch = Watch(process, status, command, started, isolated=isolated)
        ended = watch.follow(request(command, ready, isolated=isolated), cancellation)
    if ended.refusal is not None:
        raise RefusedError(ended.refusal, ended.why)
    return CommandResult(
        command=command,
        ending=ended.ending,
        program=ready.program,
        cwd=ready.cwd.path,
        exit_code=ended.exit_code,
        signal=ended.signal,
        stdout=watch.stdout.output(),
        stderr=watch.stderr.output(),
        left=watch.left,
        ms=round((ended.at - begun) * _MS),
        isolation=how,
    )


@cache
def _isolation(program: str) -> Isolation:
    # Bubblewrap may be installed and not work, for example without user namespaces.
    try:
        path = find_program(program)
    except RefusedError:
        return Isolation(IsolatedBy.NOTHING, "bubblewrap is not installed")
    with _watcher(bubblewrap.arguments(path, ())) as (process, status):
        deadline = time.monotonic() + PROBE_SECONDS
        if first_line(status, deadline) == watcher.READY:
            return Isolation(IsolatedBy.BUBBLEWRAP)
        why = first_line(process.errors, deadline).decode("utf-8", "replace")
        # After a timeout, ignore its output: it has not exited, so it may still work.
        if time.monotonic() >= deadline:
            raise RefusedError(*not_started("bubblewrap did not answer"))
        return Isolation(IsolatedBy.NOTHING, f"bubblewrap does not work here: {why or 'no answer'}")


@contextmanager
def _watcher(prefix: list[bytes]) -> Iterator[tuple[Process, int]]:
    """Start a supervisor that waits for its request; yield it and the pipe for its reports."""
    status, theirs = os.pipe()
    try:
        try:
            ours = [sys.executable, "-I", "-S", _WATCHER, str(theirs)]
            process = Process([*prefix, *ours], errors=PIPE, keep=(theirs,), patience=END_SECONDS)
        finally:
            os.close(theirs)
        try:
            yield process, status
        finally:
            process.kill()
    finally:
        os.close(status)
