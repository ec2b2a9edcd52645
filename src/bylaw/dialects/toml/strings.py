"""A string as it is written → the place of each character of its value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.source import SourceFile, Span

# A backslash at the end of a line removes all blanks up to the next text.
_BASIC = re.compile(
    r"\\(?P<gap>[ \t]*\r?\n[ \t\r\n]*)|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}|\\.|\r\n|.", re.DOTALL
)
_LITERAL = re.compile(r"\r\n|.", re.DOTALL)


def character_places(source: SourceFile, span: Span) -> list[int]:
    """Return the offset of each character of the value, and then the offset of its end."""
    written = source.slice(span)
    quotes = 3 if written.startswith(('"""', "'''")) else 1
    body = written[quotes:-quotes]
    begin = span.start + quotes
    if quotes > 1:  # a line break after the opening quotes is not part of the value
        skipped = re.match(r"\r?\n", body)
        begin += skipped.end() if skipped else 0
        body = body[skipped.end() :] if skipped else body
    pattern = _BASIC if written.startswith('"') else _LITERAL
    return [*(begin + at for at in _starts(pattern, body)), begin + len(body)]


def _starts(pattern: re.Pattern[str], body: str) -> Iterator[int]:
    for found in pattern.finditer(body):
        if found.groupdict().get("gap") is None:
            yield found.start()
