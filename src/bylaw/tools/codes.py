"""Collect all diagnostic codes of `bylaw.model.codes` by name."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from bylaw.model import codes
from bylaw.model.codes import Code


@cache
def all_codes() -> dict[str, Code]:
    """Return every code that Bylaw can report, sorted by name."""
    found = [
        value
        for module in iter_modules(codes.__path__, f"{codes.__name__}.")
        for value in vars(import_module(module.name)).values()
        if isinstance(value, Code)
    ]
    return {code.name: code for code in sorted(found, key=lambda code: code.name)}
