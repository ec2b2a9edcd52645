"""The time of day, as events, records and files have it."""

from __future__ import annotations

from time import time_ns

_NS_OF_MS = 1_000_000


def now_ms() -> int:
    """Milliseconds since 1970, in UTC."""
    return time_ns() // _NS_OF_MS
