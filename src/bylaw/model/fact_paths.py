"""A path as facts have it → the name of the file, and how that is shown.

A name that is UTF-8 stands in facts as it is. In any other, bytes that are none are written as
`\\u{dcff}`, in the notation of `visible`; see `fact_path` of the host that reads git.
"""

from __future__ import annotations

import re
from sys import maxunicode

from bylaw.model.visible import visible

_WRITTEN_OUT = re.compile(r"\\u\{([0-9a-f]{1,6})\}")


def file_path(path: str) -> str:
    """The path of the file, for the system: bytes that are no UTF-8 are surrogates in it."""
    return _WRITTEN_OUT.sub(_character, path)


def shown_path(path: str) -> str:
    """The path for people, on one line: written out once, whatever is odd in it."""
    return visible(file_path(path))


def _character(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    return chr(code) if code <= maxunicode else found[0]
