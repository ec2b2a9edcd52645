"""Refuse computed values that are too large, nested too deeply or not JSON.

An expression can use a value many times, and a variable can contain its own old value. So a value
that is small in memory may be huge as JSON.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from bylaw.model.codes.chatmd_rules import VALUE_TOO_LARGE
from bylaw.model.codes.engine import VALUE_NOT_FINITE
from bylaw.model.errors import RenderError

if TYPE_CHECKING:
    from bylaw.model.values import JSON

# Limits in characters, for the approximate length of a value as JSON.
MAX_VARIABLE = 65_536
MAX_ARGUMENTS = 1_000_000
MAX_DEPTH = 100  # same as for events


def refuse_large(value: JSON, what: str, most: int) -> None:
    """Raise `RenderError` if a value cannot be stored."""
    left = most
    level: list[JSON] = [value]
    for _ in range(MAX_DEPTH):
        below: list[JSON] = []
        for part in level:
            left -= _size(part)
            if left < 0:
                raise RenderError(VALUE_TOO_LARGE.name, f"{what} would be larger than {most:,}")
            if isinstance(part, float) and not isfinite(part):
                raise RenderError(VALUE_NOT_FINITE.name, f"{what} would not be a finite number")
            if isinstance(part, dict):
                below += part.values()
            elif isinstance(part, list):
                below += part
        if not below:
            return
        level = below
    raise RenderError(VALUE_TOO_LARGE.name, f"{what} would be nested deeper than {MAX_DEPTH}")


def _size(part: JSON) -> int:
    if isinstance(part, dict):
        return 1 + len(part) + sum(map(len, part))
    if isinstance(part, int):
        return 1 + part.bit_length() // 3  # about its number of digits
    return 1 + len(part) if isinstance(part, str | list) else 1
