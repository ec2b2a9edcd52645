"""How long a model is waited for and how often it is asked again, and what a failed attempt tells.

The official packages can ask again by themselves, but that is switched off: one of them would wait
49 days when a server says so, neither begins again when a stream breaks before its first word, and
one rule for all providers can be tested.
"""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

# A model may think for minutes before its first word.
TIMEOUT_S = 300.0
CONNECT_S = 10.0
# Signs of life do not count as an answer for ever.
MAX_TURN_S = 3_600.0
MAX_RETRIES = 4
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0


class Failure(Exception):  # noqa: N818 - not for callers, they get a ModelError
    """An attempt that failed: what a person is told, and whether asking again may help."""

    def __init__(self, told: str, *, again: bool = False, wait_s: float | None = None) -> None:
        super().__init__(told)
        self.again = again
        self.wait_s = wait_s


class Patience(Struct, frozen=True, kw_only=True):
    """`timeout_s` is for silence, `turn_s` for a whole attempt; waits double from the first on."""

    timeout_s: float = TIMEOUT_S
    connect_s: float = CONNECT_S
    turn_s: float = MAX_TURN_S
    retries: int = MAX_RETRIES
    first_wait_s: float = FIRST_WAIT_S
    longest_wait_s: float = LONGEST_WAIT_S

    def wait_s(self, asked: int, failure: Failure) -> float | None:
        """How long to wait after so many attempts; None: it is not asked again."""
        if not failure.again or asked > self.retries:
            return None
        if failure.wait_s is None:
            return min(self.first_wait_s * 2.0 ** (asked - 1), self.longest_wait_s)
        # To come back before the server wants it would only be refused again.
        return failure.wait_s if failure.wait_s <= self.longest_wait_s else None


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server wants to be left alone; None if it does not say."""
    seconds = _number(headers.get("retry-after-ms", ""), 1_000)
    if seconds is None:
        seconds = _number(headers.get("retry-after", ""), 1)
    if seconds is None:
        seconds = _until(headers.get("retry-after", ""))
    return seconds if seconds is not None and seconds > 0 else None


def _number(written: str, divisor: int) -> float | None:
    try:
        number = float(written)
    except ValueError:
        return None
    return number / divisor if isfinite(number) else None


def _until(written: str) -> float | None:
    try:
        return parsedate_to_datetime(written).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
