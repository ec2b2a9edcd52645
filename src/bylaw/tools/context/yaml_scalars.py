"""Write a YAML scalar: plain if YAML 1.2 allows it, else as a block of lines or in quotes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bylaw.dialects.context.framing import MARKER
from bylaw.dialects.yaml.scalars import NumberTooLargeError, plain_value
from bylaw.model.visible import visible

if TYPE_CHECKING:
    from bylaw.dialects.yaml.nodes import Value

# What a plain text cannot begin with, and cannot contain. In brackets more is excluded.
_BEGIN = re.compile(r"[-?:,\[\]{}#&*!|>'\"%@`=<]")
_INSIDE = re.compile(r":(?:[ \t]|$)|[ \t]#")
_BRACKETS = re.compile(r"[,\[\]{}]")
# Blanks at the start or end of a line are invisible, so such a text is quoted.
_BLANKS = re.compile(r"(?:^|\n)[ \t]|[ \t](?:\n|$)")

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_LAST_OF_FOUR = 0xFFFF  # digits


def inline(value: Value, *, in_flow: bool = False) -> str:
    """Write a value on one line. `in_flow`: it is inside of brackets."""
    if isinstance(value, str):
        return value if _is_plain(value, in_flow=in_flow) else _quoted(value)
    return json.dumps(value)


def literal(value: Value) -> list[str]:
    """Write a text of several lines as header and lines, or return [] if it must be quoted."""
    if not isinstance(value, str) or "\n" not in value or value.startswith("\n"):
        return []
    lines = value.removesuffix("\n").split("\n")
    hidden = any(visible(line) != line for line in lines)
    # Framing does not parse YAML: a line that looks like a marker would be one (AC-A07).
    if hidden or not lines[-1] or _BLANKS.search(value) or MARKER.search(value):
        return []
    return ["|" if value.endswith("\n") else "|-", *lines]


def _is_plain(text: str, *, in_flow: bool) -> bool:
    if not text or text != text.strip(" ") or visible(text) != text:
        return False
    if _BEGIN.match(text) or _INSIDE.search(text) or (in_flow and _BRACKETS.search(text)):
        return False
    try:
        return isinstance(plain_value(text), str)
    except NumberTooLargeError:
        return False


def _quoted(text: str) -> str:
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    """Escape a character for double quotes. Invisible characters become code points."""
    if char in _ESCAPES:
        return _ESCAPES[char]
    if visible(char) == char:
        return char
    return f"\\u{ord(char):04x}" if ord(char) <= _LAST_OF_FOUR else f"\\U{ord(char):08x}"
