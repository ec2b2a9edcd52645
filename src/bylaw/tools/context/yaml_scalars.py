"""A value of YAML → how it is written: plain where YAML 1.2 allows it, a block of lines, quoted."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bylaw.dialects.context.framing import MARKER
from bylaw.dialects.yaml.scalars import NumberTooLargeError, plain_value
from bylaw.model.visible import visible

if TYPE_CHECKING:
    from bylaw.dialects.yaml.nodes import Value

# What a plain text cannot begin with, nor hold; inside of brackets it has to leave out more.
_BEGIN = re.compile(r"[-?:,\[\]{}#&*!|>'\"%@`=<]")
_INSIDE = re.compile(r":(?:[ \t]|$)|[ \t]#")
_BRACKETS = re.compile(r"[,\[\]{}]")
# A line that begins or ends with blanks, or holds nothing else, says nothing to the eye.
_BLANKS = re.compile(r"(?:^|\n)[ \t]|[ \t](?:\n|$)")

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_LAST_OF_FOUR = 0xFFFF  # digits


def inline(value: Value, *, in_flow: bool = False) -> str:
    """A value on one line; `in_flow` is inside of brackets."""
    if isinstance(value, str):
        return value if _is_plain(value, in_flow=in_flow) else _quoted(value)
    return json.dumps(value)


def literal(value: Value) -> list[str]:
    """A text of several lines, as its header and its lines; nothing if it has to be quoted."""
    if not isinstance(value, str) or "\n" not in value or value.startswith("\n"):
        return []
    lines = value.removesuffix("\n").split("\n")
    hidden = any(visible(line) != line for line in lines)
    # Framing knows no YAML: a line that looks like a marker would be one (AC-A07).
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
    """As YAML reads it in double quotes; what nobody can see is written by its number."""
    if char in _ESCAPES:
        return _ESCAPES[char]
    if visible(char) == char:
        return char
    return f"\\u{ord(char):04x}" if ord(char) <= _LAST_OF_FOUR else f"\\U{ord(char):08x}"
