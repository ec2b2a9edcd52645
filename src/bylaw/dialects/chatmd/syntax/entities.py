"""Decode and encode the five entities in quoted attribute values."""

from __future__ import annotations

import re

_CHARACTERS = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}
_ENTITY = re.compile("|".join(_CHARACTERS))
_WRITTEN = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def decoded(raw: str) -> str:
    """Return the value of the text between quotes."""
    if "&" not in raw:
        return raw
    return _ENTITY.sub(lambda found: _CHARACTERS[found[0]], raw)


def encoded(value: str) -> str:
    """Return a value as it is written between double quotes."""
    return value.translate(_WRITTEN)


def places(raw: str, start: int, *, decoded: bool) -> tuple[int, ...]:
    """Return the places of the characters of a value written at `start`, and of its end."""
    found: list[int] = []
    at = 0
    for entity in _ENTITY.finditer(raw) if decoded else ():
        found += range(start + at, start + entity.start() + 1)
        at = entity.end()
    return (*found, *range(start + at, start + len(raw) + 1))
