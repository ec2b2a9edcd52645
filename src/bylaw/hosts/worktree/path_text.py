"""Paths as git has them ↔ paths as facts have them: text that every record can hold.

A name that is UTF-8 stands there as it is, whatever characters it has. In any other, the bytes that
are none are written as `\\u{dcff}`, in the notation of `visible`; so is a backslash that would
begin such a mark. So no two files have one name, and every name leads back to its file.
"""

from __future__ import annotations

import re

from bylaw.model.fact_paths import file_path
from bylaw.model.visible import visible
from bylaw.runtime.paths import as_bytes, as_text

_UNFIT = re.compile(r"[\ud800-\udfff]|\\u\{")


def fact_path(path: bytes) -> str:
    """A path for facts and records."""
    text = as_text(path)
    return visible(text) if _UNFIT.search(text) else text


def file_bytes(path: str) -> bytes:
    """The path of a file as git has it; the reverse of `fact_path`."""
    return as_bytes(file_path(path))
