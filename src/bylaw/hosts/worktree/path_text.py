"""Paths as git has them ↔ paths as facts have them: text that every record can hold.

A name that is UTF-8 stands there as it is, whatever characters it has. In any other, the bytes that
are none are written as `\\u{dcff}`, in the notation of `visible`; so is a backslash that would
begin such a mark. So no two files have one name, and every name leads back to its file.
"""

from __future__ import annotations

import re

from bylaw.model.visible import visible
from bylaw.runtime.paths import as_bytes, as_text

_UNFIT = re.compile(r"[\ud800-\udfff]|\\u\{")
_WRITTEN_OUT = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


def fact_path(path: bytes) -> str:
    """A path for facts and records."""
    text = as_text(path)
    return visible(text) if _UNFIT.search(text) else text


def file_path(path: str) -> str:
    """The path of the file, for the system; the reverse of `fact_path`."""
    return _WRITTEN_OUT.sub(lambda found: chr(int(found[1], 16)), path)


def file_bytes(path: str) -> bytes:
    """The same as git has it."""
    return as_bytes(file_path(path))
