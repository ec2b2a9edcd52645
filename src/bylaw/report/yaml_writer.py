"""Write the nodes of a YAML body in canonical form: keys in a fixed order, two blanks a level.

Lists of short values are on one line, everything else is below its key. Comments stay with their
entries. Scalars are plain if YAML 1.2 allows it, else a block of lines or quoted. A line that
looks like a block marker is always quoted (AC-A07).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from bylaw.languages.context.blocks import MARKER
from bylaw.languages.yaml import (
    NumberTooLargeError,
    YamlMapping,
    YamlScalar,
    YamlSequence,
    plain_value,
)
from bylaw.model.display import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.languages.yaml import Node, Value, YamlPair
    from bylaw.report.context_format import Comments

# What a plain text cannot begin with, and cannot contain. In brackets more is excluded.
_BEGIN = re.compile(r"[-?:,\[\]{}#&*!|>'\"%@`=<]")
_INSIDE = re.compile(r":(?:[ \t]|$)|[ \t]#")
_BRACKETS = re.compile(r"[,\[\]{}]")
# Blanks at the start or end of a line are invisible, so such a text is quoted.
_BLANKS = re.compile(r"(?:^|\n)[ \t]|[ \t](?:\n|$)")

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_LAST_OF_FOUR = 0xFFFF  # digits


def write_inline(value: Value, *, in_flow: bool = False) -> str:
    """Write a value on one line. `in_flow`: it is inside of brackets."""
    if isinstance(value, str):
        return value if _is_plain(value, in_flow=in_flow) else _quote(value)
    return json.dumps(value)


def write_literal(value: Value) -> list[str]:
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


def _quote(text: str) -> str:
    return f'"{"".join(map(_escape, text))}"'


def _escape(char: str) -> str:
    """Escape a character for double quotes. Invisible characters become code points."""
    if char in _ESCAPES:
        return _ESCAPES[char]
    if visible(char) == char:
        return char
    return f"\\u{ord(char):04x}" if ord(char) <= _LAST_OF_FOUR else f"\\U{ord(char):08x}"


MAX_WIDTH = 80
STEP = "  "


class BodyWriter:
    """Writes one body. `value_of` returns the value to write for a scalar, `rank` orders keys.

    Values of the keys in `free` keep the order of the author.
    """

    def __init__(
        self,
        comments: Comments,
        value_of: Callable[[YamlScalar], Value],
        rank: Callable[[Value], int],
        free: frozenset[str],
    ) -> None:
        self._comments = comments
        self._value_of = value_of
        self._rank = rank
        self._free = free

    def body(self, root: YamlMapping) -> Iterator[str]:
        """Yield all lines, without line breaks."""
        yield from self._mapping(root, "", is_free=False)
        yield from self._comments.last

    def _mapping(self, node: YamlMapping, indent: str, *, is_free: bool) -> Iterator[str]:
        for pair in self._ordered_pairs(node, is_free=is_free):
            yield from _indent(indent, self._comments.before(pair))
            yield from self._pair(pair, indent, indent, is_free=is_free)

    def _ordered_pairs(self, node: YamlMapping, *, is_free: bool) -> list[YamlPair]:
        if is_free:
            return list(node.pairs)
        return sorted(node.pairs, key=lambda pair: self._rank(pair.key.value))

    def _pair(
        self, pair: YamlPair, lead: str, indent: str, *, is_free: bool, beside: str = ""
    ) -> Iterator[str]:
        key = pair.key.value
        title = f"{lead}{write_inline(key)}:"
        beside = self._comments.beside(pair) or beside
        is_free = is_free or key in self._free
        yield from self._value(title, pair.value, indent + STEP, beside, is_free=is_free)

    def _value(
        self, title: str, node: Node, indent: str, beside: str, *, is_free: bool
    ) -> Iterator[str]:
        """Yield a value after its key or dash, or below it."""
        behind = f"  {beside}" if beside else ""
        header, *lines = self._literal(node) or [""]
        text = header or self._inline(node, len(title) + 1)
        yield f"{title} {text}".rstrip() + behind
        if header:
            yield from _indent(indent, lines)
        elif text:
            return
        elif isinstance(node, YamlMapping):
            yield from self._mapping(node, indent, is_free=is_free)
        elif isinstance(node, YamlSequence):
            yield from self._sequence(node, indent, is_free=is_free)

    def _sequence(
        self, node: YamlSequence, indent: str, *, is_free: bool, lifted: bool = False
    ) -> Iterator[str]:
        for number, item in enumerate(node.items):
            yield from _indent(indent, self._comments.before(item))
            if isinstance(item, YamlMapping) and item.pairs:
                yield from self._mapping_item(item, indent, is_free=is_free)
            elif isinstance(item, YamlSequence) and self._is_below(item, indent):
                if number or not lifted:
                    yield from _indent(indent, self._dash_comments(item, indent))
                yield f"{indent}-"
                yield from self._sequence(item, indent + STEP, is_free=is_free, lifted=True)
            else:
                beside = self._comments.beside(item)
                yield from self._value(f"{indent}-", item, indent + STEP, beside, is_free=is_free)

    def _is_below(self, item: YamlSequence, indent: str) -> bool:
        """Whether a list in a list must be written below its dash."""
        return not self._inline(item, len(indent) + len(STEP))

    def _dash_comments(self, item: Node, indent: str) -> list[str]:
        """Return comments of dashes that are alone on their line, to write above them.

        After such a dash, a comment would belong to the next entry.
        """
        if not isinstance(item, YamlSequence) or not self._is_below(item, indent):
            return []
        beside = self._comments.beside(item)
        return ([beside] if beside else []) + self._dash_comments(item.items[0], indent + STEP)

    def _mapping_item(self, item: YamlMapping, indent: str, *, is_free: bool) -> Iterator[str]:
        """Write the first key after the dash. A comment of the item goes to the same line."""
        first, *rest = self._ordered_pairs(item, is_free=is_free)
        below = indent + STEP
        yield from _indent(indent, self._comments.before(first))
        beside = self._comments.beside(item)
        yield from self._pair(first, f"{indent}- ", below, is_free=is_free, beside=beside)
        for pair in rest:
            yield from _indent(below, self._comments.before(pair))
            yield from self._pair(pair, below, below, is_free=is_free)

    def _literal(self, node: Node) -> list[str]:
        return write_literal(self._value_of(node)) if isinstance(node, YamlScalar) else []

    def _inline(self, node: Node, before: int) -> str:
        """Write a value on one line, or return an empty text if it does not fit."""
        if isinstance(node, YamlScalar):
            return write_inline(self._value_of(node))
        if isinstance(node, YamlMapping):
            return "" if node.pairs else "{}"
        if not node.items:
            return "[]"
        if self._comments.has_within(node):
            return ""
        text = self._flow(node)
        return text if text and before + len(text) <= MAX_WIDTH else ""

    def _flow(self, node: YamlSequence) -> str:
        """Write a list in brackets, or return an empty text if an item is not allowed there."""
        parts = []
        for item in node.items:
            if isinstance(item, YamlMapping) or self._literal(item):
                return ""
            if isinstance(item, YamlSequence):
                parts.append(self._flow(item))
            else:
                parts.append(write_inline(self._value_of(item), in_flow=True))
        return f"[{', '.join(parts)}]" if all(parts) else ""


def _indent(indent: str, lines: list[str]) -> Iterator[str]:
    return (f"{indent}{line}" if line else "" for line in lines)
