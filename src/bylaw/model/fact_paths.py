"""Name of a file ↔ its path in facts, a text that every record can hold; and how it is shown.

A name that is UTF-8 stays as it is, with all its characters. In any other name, each byte that is
not UTF-8 is written as `\\u{dcff}`, in the notation of `visible`. A backslash that would begin such
a mark is written the same way. So no two files have the same path, every path leads back to its
file, and rules see the same path from every source.
"""

from __future__ import annotations

import re
from sys import maxunicode

from bylaw.model.visible import visible

_UNFIT = re.compile(r"[\ud800-\udfff]|\\u\{")
_WRITTEN_OUT = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


def fact_path(path: str) -> str:
    """Return the path for facts and records. In `path`, bytes that are not UTF-8 are surrogates."""
    return visible(path) if _UNFIT.search(path) else path


def file_path(path: str) -> str:
    """Return the path for the operating system, with surrogates. The reverse of `fact_path`."""
    return _WRITTEN_OUT.sub(_character, path)


def shown_path(path: str) -> str:
    """Return the path for people, on one line, with unseen characters written out once."""
    return visible(file_path(path))


def _character(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if code <= maxunicode else found[0]
