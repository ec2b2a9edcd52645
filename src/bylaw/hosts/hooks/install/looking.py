"""Detect the clients that are used in a root."""

from __future__ import annotations

import os
from shutil import which
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.install.clients import CLIENTS
from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from bylaw.hosts.hooks.install.clients import Client


def clients_of(root: str) -> dict[str, str]:
    """Return the clients by host, each with its trace: a file of the root, or a program."""
    found = {host: _trace(client, root) for host, client in CLIENTS.items()}
    return {host: why for host, why in found.items() if why}


def _trace(client: Client, root: str) -> str:
    for trace in client.traces:
        if os.path.lexists(as_bytes(f"{root}/{trace}")):
            return trace
    return next((name for name in client.programs if which(name)), "")
