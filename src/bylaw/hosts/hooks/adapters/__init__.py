"""One module a client; nothing of a client is imported before it calls."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Adapter


def adapter_named(host: str) -> Adapter:
    """The adapter of a client that there is: the front end refuses all others."""
    adapter: Adapter = import_module(f"bylaw.hosts.hooks.adapters.{host}").ADAPTER
    return adapter
