"""Check an output for blocks and for the constraints of a response.

Only visible things are checked (AC-175): marker lines, words, code fences, tables.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.dialects.context.declared import Constraints

# A fence may also be inside a quote or a list.
_INSIDE = r"^[ \t>]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*"
_FENCE = re.compile(_INSIDE + r"(?:```|~~~)", re.MULTILINE)
_HTML_TABLE = re.compile(r"<table\b", re.IGNORECASE)
_QUOTES = " \t>"
_TABLE_RULE = re.compile(r"\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?")
# A section name is a heading (with number or emphasis), the text before a colon, or a whole line.
_SECTION = (
    r"^[ \t>]*(?:[-*+][ \t]+)?(?:#{{1,6}}[ \t]+)?(?:[0-9.]+[.)]?[ \t]+)?"
    r"[*_]*{}[*_]*[ \t]*(?::|\r?$)"
)


def has_block(text: str, block_type: str) -> bool:
    """Return whether the opening marker of that type is alone on a line (AC-A40)."""
    marker = f"[[{block_type}]]"
    return marker in text and any(line.strip() == marker for line in text.split("\n"))


def broken(text: str, constraints: Constraints) -> Iterator[str]:
    """Yield a message for each constraint that the output violates."""
    for section in constraints.sections:
        if not re.search(_SECTION.format(re.escape(section)), text, re.MULTILINE):
            yield f"the section '{section}' is missing"
    for needle in constraints.must_include:
        if needle not in text:
            yield f"'{needle}' is missing"
    if not constraints.allow_code_blocks and _FENCE.search(text):
        yield "it contains a code block"
    if constraints.forbid_tables and has_table(text):
        yield "it contains a table"


def has_table(text: str) -> bool:
    """Return whether a row is followed by the rule of a Markdown table, or an HTML table starts."""
    before = ""
    for line in text.split("\n"):
        rule = "|" in line and "|" in before and "-" in line
        if rule and _TABLE_RULE.fullmatch(line.lstrip(_QUOTES).rstrip()):
            return True
        before = line
    return _HTML_TABLE.search(text) is not None
