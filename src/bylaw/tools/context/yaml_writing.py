"""Write the nodes of a YAML body in canonical form: keys in a fixed order, two blanks a level.

Lists of short values are on one line, everything else is below its key. Comments stay with their
entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.yaml import Mapping, Scalar, Sequence
from bylaw.tools.context.yaml_scalars import inline, literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.dialects.yaml import Node, Pair
    from bylaw.dialects.yaml.nodes import Value
    from bylaw.tools.context.yaml_comments import Comments

MAX_WIDTH = 80
STEP = "  "


class BodyWriter:
    """Writes one body. `value_of` returns the value to write for a scalar, `rank` orders keys.

    Values of the keys in `free` keep the order of the author.
    """

    def __init__(
        self,
        comments: Comments,
        value_of: Callable[[Scalar], Value],
        rank: Callable[[Value], int],
        free: frozenset[str],
    ) -> None:
        self._comments = comments
        self._value_of = value_of
        self._rank = rank
        self._free = free

    def body(self, root: Mapping) -> Iterator[str]:
        """Yield all lines, without line breaks."""
        yield from self._mapping(root, "", is_free=False)
        yield from self._comments.last

    def _mapping(self, node: Mapping, indent: str, *, is_free: bool) -> Iterator[str]:
        for pair in self._sorted(node, is_free=is_free):
            yield from _indented(indent, self._comments.before(pair))
            yield from self._pair(pair, indent, indent, is_free=is_free)

    def _sorted(self, node: Mapping, *, is_free: bool) -> list[Pair]:
        if is_free:
            return list(node.pairs)
        return sorted(node.pairs, key=lambda pair: self._rank(pair.key.value))

    def _pair(
        self, pair: Pair, lead: str, indent: str, *, is_free: bool, beside: str = ""
    ) -> Iterator[str]:
        key = pair.key.value
        title = f"{lead}{inline(key)}:"
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
            yield from _indented(indent, lines)
        elif text:
            return
        elif isinstance(node, Mapping):
            yield from self._mapping(node, indent, is_free=is_free)
        elif isinstance(node, Sequence):
            yield from self._sequence(node, indent, is_free=is_free)

    def _sequence(
        self, node: Sequence, indent: str, *, is_free: bool, lifted: bool = False
    ) -> Iterator[str]:
        for number, item in enumerate(node.items):
            yield from _indented(indent, self._comments.before(item))
            if isinstance(item, Mapping) and item.pairs:
                yield from self._mapping_item(item, indent, is_free=is_free)
            elif isinstance(item, Sequence) and self._is_below(item, indent):
                if number or not lifted:
                    yield from _indented(indent, self._lifted(item, indent))
                yield f"{indent}-"
                yield from self._sequence(item, indent + STEP, is_free=is_free, lifted=True)
            else:
                beside = self._comments.beside(item)
                yield from self._value(f"{indent}-", item, indent + STEP, beside, is_free=is_free)

    def _is_below(self, item: Sequence, indent: str) -> bool:
        """Whether a list in a list must be written below its dash."""
        return not self._inline(item, len(indent) + len(STEP))

    def _lifted(self, item: Node, indent: str) -> list[str]:
        """Return comments of dashes that are alone on their line, to write above them.

        After such a dash, a comment would belong to the next entry.
        """
        if not isinstance(item, Sequence) or not self._is_below(item, indent):
            return []
        beside = self._comments.beside(item)
        return ([beside] if beside else []) + self._lifted(item.items[0], indent + STEP)

    def _mapping_item(self, item: Mapping, indent: str, *, is_free: bool) -> Iterator[str]:
        """Write the first key after the dash. A comment of the item goes to the same line."""
        first, *rest = self._sorted(item, is_free=is_free)
        below = indent + STEP
        yield from _indented(indent, self._comments.before(first))
        beside = self._comments.beside(item)
        yield from self._pair(first, f"{indent}- ", below, is_free=is_free, beside=beside)
        for pair in rest:
            yield from _indented(below, self._comments.before(pair))
            yield from self._pair(pair, below, below, is_free=is_free)

    def _literal(self, node: Node) -> list[str]:
        return literal(self._value_of(node)) if isinstance(node, Scalar) else []

    def _inline(self, node: Node, before: int) -> str:
        """Write a value on one line, or return an empty text if it does not fit."""
        if isinstance(node, Scalar):
            return inline(self._value_of(node))
        if isinstance(node, Mapping):
            return "" if node.pairs else "{}"
        if not node.items:
            return "[]"
        if self._comments.are_within(node):
            return ""
        text = self._flow(node)
        return text if text and before + len(text) <= MAX_WIDTH else ""

    def _flow(self, node: Sequence) -> str:
        """Write a list in brackets, or return an empty text if an item is not allowed there."""
        parts = []
        for item in node.items:
            if isinstance(item, Mapping) or self._literal(item):
                return ""
            if isinstance(item, Sequence):
                parts.append(self._flow(item))
            else:
                parts.append(inline(self._value_of(item), in_flow=True))
        return f"[{', '.join(parts)}]" if all(parts) else ""


def _indented(indent: str, lines: list[str]) -> Iterator[str]:
    return (f"{indent}{line}" if line else "" for line in lines)
