"""Clients → their programs on the search path, and the versions that these say they are.

They are asked with a home that goes away: some write files whatever they are asked.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from shutil import which
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.canary.running import environment_for, followed, program_named
from bylaw.runtime.command import ERRORS_ARE_OUTPUT, Process

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bylaw.hosts.hooks.install.clients import Client

_PATIENCE_S = 20.0
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
NODE = "node"


@dataclass(frozen=True, slots=True)
class Program:
    """Where a program lies, and its version; empty if it does not say one."""

    path: str
    version: str


def programs_of(clients: Iterable[Client]) -> dict[str, Program]:
    """The programs of installed clients by host, and `node` if one of them needs it."""
    paths = {one: path for one in clients if (path := _first(one.programs))}
    found = {one.host: path for one, path in paths.items()}
    node = _first((NODE,)) if any(one.node for one in paths) else ""
    return _with_versions(found | ({NODE: node} if node else {}))


def major(version: str) -> int:
    """The first number of a version; 0 if there is none."""
    return int(version.partition(".")[0]) if version else 0


def _first(names: tuple[str, ...]) -> str:
    return next((program_named(name) for name in names if which(name)), "")


def _with_versions(paths: Mapping[str, str]) -> dict[str, Program]:
    """All are asked at once: each takes a second or two."""
    until = time.monotonic() + _PATIENCE_S
    with TemporaryDirectory(prefix="bylaw-doctor-", ignore_cleanup_errors=True) as home:
        asked = {name: _asked(path, home) for name, path in paths.items()}
        return {name: Program(paths[name], _said(one, until)) for name, one in asked.items()}


def _asked(path: str, home: str) -> Process | None:
    try:
        return Process(
            [path, "--version"],
            errors=ERRORS_ARE_OUTPUT,
            variables=environment_for(path, home),
            cwd=home,
        )
    except OSError:
        return None


def _said(process: Process | None, until: float) -> str:
    if process is None:
        return ""
    try:
        process.hang_up()
        output, code = followed(process, until)
    finally:
        process.kill()
    found = _VERSION.search(output.decode("utf-8", "replace"))
    return found[0] if found and code == 0 else ""
