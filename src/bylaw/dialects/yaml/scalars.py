"""The text of a plain scalar → its value, by the core schema of YAML 1.2."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bylaw.dialects.yaml.nodes import Value

MAX_NUMBER_CHARS = 300

_INFINITE = (".inf", ".Inf", ".INF")
_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: math.inf for sign in ("", "+") for word in _INFINITE},
    **{"-" + word: -math.inf for word in _INFINITE},
}

_NUMBER = re.compile(
    r"(?P<decimal>[-+]?[0-9]+)|0o(?P<octal>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_BASES = {"decimal": 10, "octal": 8, "hex": 16}


class NumberTooLargeError(ValueError):
    """A number with too many characters, or a float that would become infinite."""


def plain_value(text: str) -> Value:
    """Return the value of a scalar without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    if len(text) > MAX_NUMBER_CHARS:
        raise NumberTooLargeError
    kind = str(match.lastgroup)
    if kind != "float":
        return int(match[kind], _BASES[kind])
    value = float(text)
    if math.isinf(value):
        raise NumberTooLargeError
    return value
