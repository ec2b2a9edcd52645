"""Paths as git has them, bytes ↔ paths as facts have them, text."""

from __future__ import annotations

from bylaw.model.fact_paths import fact_path, file_path
from bylaw.runtime.paths import as_bytes, as_text


def fact_path_of(path: bytes) -> str:
    """A path for facts and records."""
    return fact_path(as_text(path))


def file_bytes(path: str) -> bytes:
    """The path of a file as git has it; the reverse of `fact_path_of`."""
    return as_bytes(file_path(path))
