"""A time in milliseconds as ISO text. Plain arithmetic, since a clock must not be imported here."""

from __future__ import annotations

from functools import lru_cache

_DAY_MS = 86_400_000
# Days from 0000-03-01 to 1970-01-01; in a year that begins in March the leap day comes last.
_MARCH_EPOCH = 719_468
_DAYS_OF_400_YEARS = 146_097
_DAYS_OF_100_YEARS = 36_524
_DAYS_OF_4_YEARS = 1_460
_FEBRUARY = 2


@lru_cache(maxsize=1024)
def iso_time(milliseconds: int) -> str:
    """Return a text such as `2026-01-31T23:59:59.999Z`."""
    days, rest = divmod(milliseconds, _DAY_MS)
    year, month, day = _date(days)
    seconds, milli = divmod(rest, 1_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"


def _date(days: int) -> tuple[int, int, int]:
    era, day = divmod(days + _MARCH_EPOCH, _DAYS_OF_400_YEARS)
    leaps = day // _DAYS_OF_4_YEARS - day // _DAYS_OF_100_YEARS + day // (_DAYS_OF_400_YEARS - 1)
    year = (day - leaps) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month = month + 3 if month < 10 else month - 9  # noqa: PLR2004 - March is month 0
    return era * 400 + year + (month <= _FEBRUARY), month, day + 1
