"""Format milliseconds as local date and time."""

from __future__ import annotations

from datetime import datetime

_MS = 1_000


def local_day(at: int) -> str:
    """Return for example `2026-07-28`."""
    return _local(at)[:10]


def local_clock(at: int) -> str:
    """Return for example `10:00:01`."""
    return _local(at)[11:19]


def local_minute(at: int) -> str:
    """Return for example `2026-07-28 10:00`."""
    return _local(at)[:16]


def local_time(at: int) -> str:
    """Return for example `2026-07-28 10:00:01`."""
    return _local(at)


def _local(at: int) -> str:
    try:
        return datetime.fromtimestamp(at // _MS).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):  # a record may have any number as its time
        return f"{at} ms".ljust(19)
