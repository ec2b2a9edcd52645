"""The current time as events, records and files store it."""

from __future__ import annotations

from time import time_ns

_NS_OF_MS = 1_000_000


def now_ms() -> int:
    """Return milliseconds since 1970, in UTC."""
    return time_ns() // _NS_OF_MS
