"""Run a client in a trial place until it exits, and return what it printed.

The client sees its own home and a few variables, but no account, key or session of the caller.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.hooks.client_programs import environment_for, followed, program_named
from bylaw.runtime.command import ERRORS_ARE_OUTPUT, Process

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.hooks.canary.base import TrialClient, TrialPlace

RUN_SECONDS = 180.0


class Ran(Struct, frozen=True):
    """What a client printed, its exit code (None if it was killed) and how long it took."""

    output: str
    exit_code: int | None
    seconds: float


def run_client(
    client: TrialClient,
    place: TrialPlace,
    prompt: str,
    variables: Mapping[str, str],
    *,
    again: bool = False,
) -> Ran:
    """Run a client until it exits. With `again` it continues its last session."""
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
