"""Quoted values of attributes: the five entities, decoded and written."""

from __future__ import annotations

import re

_CHARACTERS = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'"}
_ENTITY = re.compile("|".join(_CHARACTERS))
_WRITTEN = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def decoded(raw: str) -> str:
    """What stands between quotes → the value."""
    if "&" not in raw:
        return raw
    return _ENTITY.sub(lambda found: _CHARACTERS[found[0]], raw)


def encoded(value: str) -> str:
    """A value → what stands between double quotes."""
    return value.translate(_WRITTEN)


def places(raw: str, start: int, *, decoded: bool) -> tuple[int, ...]:
    """Where each character of a value stands that is written at `start`, and its end."""
    found: list[int] = []
    at = 0
    for entity in _ENTITY.finditer(raw) if decoded else ():
        found += range(start + at, start + entity.start() + 1)
        at = entity.end()
    return (*found, *range(start + at, start + len(raw) + 1))
