"""Detect the clients that are used in a root, their programs on the search path, and versions.

Clients are asked for their version with a temporary home, because some write files at every start.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.hooks.install.forms import CLIENTS
from bylaw.hosts.hooks.resident_client import RESIDENT_OFF, RESIDENT_VARIABLE
from bylaw.model.errors import BylawError
from bylaw.runtime.sandbox.command import ERRORS_ARE_OUTPUT, PATH, Process
from bylaw.store.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bylaw.hosts.hooks.install.forms import Client


def find_clients(root: str) -> dict[str, str]:
    """Return the clients by host, each with its trace: a file of the root, or a program."""
    found = {host: _find_trace(client, root) for host, client in CLIENTS.items()}
    return {host: why for host, why in found.items() if why}


def _find_trace(client: Client, root: str) -> str:
    for trace in client.traces:
        if os.path.lexists(as_bytes(f"{root}/{trace}")):
            return trace
    return next((name for name in client.programs if which(name)), "")


MAX_OUTPUT = 256 << 10
_PATIENCE_S = 20.0
_POLL_S = 0.2
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[\w.+-]*\w)?")
NODE = "node"


class NoProgramError(BylawError):
    """The client is not installed here."""


class Program(Struct, frozen=True):
    """The path and the version of a program. The version is empty if it prints none."""

    path: str
    version: str


def find_program(name: str) -> str:
    """Return the absolute path of a program. Raises NoProgramError if it is not found."""
    found = which(name)
    if not found:
        raise NoProgramError(f"`{name}` is not on the search path")
    return str(Path(found).absolute())


def find_programs(clients: Iterable[Client]) -> dict[str, Program]:
    """Return the programs of installed clients by host, and `node` if one of them needs it."""
    paths = {one: path for one in clients if (path := _find_first(one.programs))}
    found = {one.host: path for one, path in paths.items()}
    node = _find_first((NODE,)) if any(one.node for one in paths) else ""
    return _read_versions(found | ({NODE: node} if node else {}))


def major_version(version: str) -> int:
    """Return the first number of a version; 0 if it is empty."""
    return int(version.partition(".")[0]) if version else 0


def _find_first(names: tuple[str, ...]) -> str:
    return next((find_program(name) for name in names if which(name)), "")


def _read_versions(paths: Mapping[str, str]) -> dict[str, Program]:
    """Run all programs at once: each takes a second or two."""
    until = time.monotonic() + _PATIENCE_S
    with TemporaryDirectory(prefix="bylaw-doctor-", ignore_cleanup_errors=True) as home:
        asked = {name: _start(path, home) for name, path in paths.items()}
        return {
            name: Program(paths[name], _version_from(one, until)) for name, one in asked.items()
        }


def _start(path: str, home: str) -> Process | None:
    try:
        return Process(
            [path, "--version"],
            errors=ERRORS_ARE_OUTPUT,
            variables=environment_for(path, home),
            cwd=home,
        )
    except OSError:
        return None


def _version_from(process: Process | None, until: float) -> str:
    if process is None:
        return ""
    try:
        process.hang_up()
        output, code = read_until_exit(process, until)
    finally:
        process.kill()
    found = _VERSION.search(output.decode("utf-8", "replace"))
    return found[0] if found and code == 0 else ""


def environment_for(program: str, home: str) -> dict[str, str]:
    """Return the variables of a client. `PATH` starts with its folder and node's.

    Some clients are scripts for node.
    """
    node = which("node")
    folders = [os.path.dirname(one) for one in (program, node) if one]  # noqa: PTH120 - for `PATH`
    return {
        "HOME": home,
        "PATH": ":".join([*folders, PATH]),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        RESIDENT_VARIABLE: RESIDENT_OFF,  # no resident: it would outlive this home folder
    }


def read_until_exit(process: Process, deadline: float) -> tuple[bytes, int | None]:
    """Read the output until the process exits. What it started may keep the output open longer."""
    kept = b""
    while time.monotonic() < deadline:
        try:
            kept = (kept + process.receive(time.monotonic() + _POLL_S))[-MAX_OUTPUT:]
        except TimeoutError:
            ended = _exit_code(process, 0.0)
            if ended is not None:
                return kept, ended
        except ConnectionError:
            return kept, _exit_code(process, deadline)
    return kept, None


def _exit_code(process: Process, deadline: float) -> int | None:
    try:
        return process.exit_code(deadline)
    except TimeoutError:
        return None
