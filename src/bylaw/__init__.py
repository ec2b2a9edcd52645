"""Bylaw: one deterministic rule engine for AI agents."""

from bylaw.version import __version__

__all__ = ["__version__"]
