"""The name of a file ↔ its path as facts have it, text that every record can hold; how it is shown.

A name that is UTF-8 stands there as it is, whatever characters it has. In any other, the bytes that
are none are written as `\\u{dcff}`, in the notation of `visible`; so is a backslash that would
begin such a mark. So no two files have one name, every name leads back to its file, and rules see
the same one whoever tells of it.
"""

from __future__ import annotations

import re
from sys import maxunicode

from bylaw.model.visible import visible

_UNFIT = re.compile(r"[\ud800-\udfff]|\\u\{")
_WRITTEN_OUT = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


def fact_path(path: str) -> str:
    """The path for facts and records; bytes that are no UTF-8 are surrogates in what is given."""
    return visible(path) if _UNFIT.search(path) else path


def file_path(path: str) -> str:
    """The path of the file, for the system, with surrogates; the reverse of `fact_path`."""
    return _WRITTEN_OUT.sub(_character, path)


def shown_path(path: str) -> str:
    """The path for people, on one line: written out once, whatever is odd in it."""
    return visible(file_path(path))


def _character(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if code <= maxunicode else found[0]
