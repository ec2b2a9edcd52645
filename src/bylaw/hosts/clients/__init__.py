"""Coding agents, one module per client. A module is imported only when its client is needed."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # the entry point of hooks imports this package, and `typing` is slow
if TYPE_CHECKING:
    from bylaw.hosts.clients.base import Adapter, TrialClient


def load_adapter(host: str) -> Adapter:
    """Return the adapter of a known client. The entry point rejects unknown ones."""
    adapter: Adapter = import_module(f"bylaw.hosts.clients.{host}").ADAPTER
    return adapter


# Cursor's agent needs a server of its own.
TESTABLE = ("claude", "codex", "gemini", "qwen", "copilot", "droid", "opencode")


def load_trial_client(host: str) -> TrialClient:
    """Return a client. Raises KeyError if it cannot be tested."""
    if host not in TESTABLE:
        raise KeyError(host)
    client: TrialClient = import_module(f"bylaw.hosts.clients.{host}").CLIENT
    return client
