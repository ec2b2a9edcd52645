"""A client and a place → the client run there to its end, and what it printed.

It sees a home of its own and a few variables, nothing of ours: no account, no key, no session of
whoever calls.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.line import OFF, SWITCH
from bylaw.model.errors import BylawError
from bylaw.runtime.command import ERRORS_ARE_OUTPUT, PATH, Process

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.hooks.canary.shape import Client, Place

RUN_SECONDS = 180.0
MAX_KEPT = 256 << 10
_LOOK_S = 0.2


class NoProgramError(BylawError):
    """The client is not installed here."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a client printed, how it ended (None: it had to be killed) and how long it took."""

    output: str
    exit_code: int | None
    seconds: float


def program_named(name: str) -> str:
    """The absolute path of a program; NoProgramError if it is not there."""
    found = which(name)
    if not found:
        raise NoProgramError(f"there is no `{name}` on the search path")
    return str(Path(found).absolute())


def run_client(
    client: Client, place: Place, prompt: str, variables: Mapping[str, str], *, again: bool = False
) -> Ran:
    """Run a client to its end; with `again` it goes on with its last session."""
    for path, text in client.files(place).items():
        file = Path(place.home, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    program = program_named(client.program)
    words = (*client.verb, *(client.again if again else ()), *client.options)
    seen = {**environment_for(program, place.home), **client.variables(place), **variables}
    begun = time.monotonic()
    process = Process(
        [program, *words, prompt], errors=ERRORS_ARE_OUTPUT, variables=seen, cwd=place.repository
    )
    try:
        process.hang_up()
        output, code = followed(process, begun + RUN_SECONDS)
    finally:
        process.kill()
    return Ran(output.decode("utf-8", "replace"), code, time.monotonic() - begun)


def environment_for(program: str, home: str) -> dict[str, str]:
    """What a client sees; its own folder and node's come first: some are scripts for node."""
    node = which("node")
    folders = [os.path.dirname(one) for one in (program, node) if one]  # noqa: PTH120 - a PATH
    return {
        "HOME": home,
        "PATH": ":".join([*folders, PATH]),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        SWITCH: OFF,  # nothing of this place is needed any more when it is gone
    }


def followed(process: Process, deadline: float) -> tuple[bytes, int | None]:
    """What it prints until it ends; what it started may hold its output open longer."""
    kept = b""
    while time.monotonic() < deadline:
        try:
            kept = (kept + process.receive(time.monotonic() + _LOOK_S))[-MAX_KEPT:]
        except TimeoutError:
            ended = _ended(process, 0.0)
            if ended is not None:
                return kept, ended
        except ConnectionError:
            return kept, _ended(process, deadline)
    return kept, None


def _ended(process: Process, deadline: float) -> int | None:
    try:
        return process.exit_code(deadline)
    except TimeoutError:
        return None
