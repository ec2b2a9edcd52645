"""Timeouts and retries of a model, and the failure of one attempt.

The official packages can retry, but that is turned off: one of them would wait 49 days if a server
says so, neither retries when a stream breaks before its first text, and one rule for all providers
can be tested.
"""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

# A model may think for minutes before its first text.
TIMEOUT_S = 300.0
CONNECT_S = 10.0
# Without this, a server could keep a turn open forever with signs of life.
MAX_TURN_S = 3_600.0
MAX_RETRIES = 4
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0


class Failure(Exception):  # noqa: N818 - not for callers, they get a ModelError
    """A failed attempt: the text for a person, and whether a retry may help."""

    def __init__(self, told: str, *, again: bool = False, wait_s: float | None = None) -> None:
        super().__init__(told)
        self.again = again
        self.wait_s = wait_s


class Patience(Struct, frozen=True, kw_only=True):
    """How long to wait for a model, and how many times to retry.

    `timeout_s` limits the time without data, `turn_s` the time of an attempt. Waits between
    attempts double from `first_wait_s` on.
    """

    timeout_s: float = TIMEOUT_S
    connect_s: float = CONNECT_S
    turn_s: float = MAX_TURN_S
    retries: int = MAX_RETRIES
    first_wait_s: float = FIRST_WAIT_S
    longest_wait_s: float = LONGEST_WAIT_S

    def wait_s(self, asked: int, failure: Failure) -> float | None:
        """Return how long to wait after `asked` attempts, None for no further attempt."""
        if not failure.again or asked > self.retries:
            return None
        if failure.wait_s is None:
            return min(self.first_wait_s * 2.0 ** (asked - 1), self.longest_wait_s)
        # An attempt before the time that the server gave would only be rejected again.
        return failure.wait_s if failure.wait_s <= self.longest_wait_s else None


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, None if it does not say."""
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
