"""Clients that can be tested on this machine alone, one module per client."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from bylaw.runtime.effects import CLAUDE, CODEX, COPILOT, DROID, GEMINI, OPENCODE, QWEN

if TYPE_CHECKING:
    from bylaw.hosts.hooks.canary.base import TrialClient

# Cursor's agent needs a server of its own.
TRIED = (CLAUDE, CODEX, GEMINI, QWEN, COPILOT, DROID, OPENCODE)


def client_named(host: str) -> TrialClient:
    """Return a client. Raises KeyError if it cannot be tested."""
    if host not in TRIED:
        raise KeyError(host)
    client: TrialClient = import_module(f"bylaw.hosts.hooks.canary.clients.{host}").CLIENT
    return client
