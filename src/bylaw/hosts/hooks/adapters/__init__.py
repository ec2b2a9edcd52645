"""Adapters, one module per client. A module is imported only when its client runs a hook."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Adapter


def adapter_named(host: str) -> Adapter:
    """Return the adapter of a known client. The entry point rejects unknown ones."""
    adapter: Adapter = import_module(f"bylaw.hosts.hooks.adapters.{host}").ADAPTER
    return adapter
