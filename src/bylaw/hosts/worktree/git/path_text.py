"""Paths of git (bytes) ↔ paths of facts (text)."""

from __future__ import annotations

from bylaw.model.fact_paths import fact_path, file_path
from bylaw.runtime.paths import as_bytes, as_text


def fact_path_of(path: bytes) -> str:
    """Convert a path of git to a path for facts and records."""
    return fact_path(as_text(path))


def file_bytes(path: str) -> bytes:
    """Convert a path of a fact to a path of git. The reverse of `fact_path_of`."""
    return as_bytes(file_path(path))
