"""Assign each comment of a YAML body to an entry.

An entry is a key with its value, or an item of a list. A comment on a line of its own belongs to
the next entry. A comment at the end of a line belongs to the entry before it on that line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from bylaw.dialects.yaml import Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.dialects.yaml import Node, Pair
    from bylaw.model.source import SourceFile, Span

_COMMENT = re.compile(r"#[^\r\n]*")
_IN_HEADER = re.compile(r"[|>][^ \t\r\n]*[ \t]+(#[^\r\n]*)")


class _Entry(NamedTuple):
    start: int
    end: int
    key: int  # the identity of the pair or item
    is_collection: bool = False


class Comments:
    """The comments of one body. Entries are identified by `id()`, because they may be equal."""

    def __init__(self, source: SourceFile, span: Span, root: Node) -> None:
        self.last: list[str] = []
        self._text = source.text
        self._root = root  # keeps the nodes alive, so that their ids stay valid
        self._before: dict[int, list[str]] = {}
        self._beside: dict[int, str] = {}
        self._entries = list(_entries(root))
        self._starts = [entry.start for entry in self._entries]
        self._begun_by = dict(_beginnings(root))
        self.texts: list[str] = []
        for at, comment in _found(source.text, span, root):
            self.texts.append(comment)
            self._attach(at, comment)

    def before(self, entry: Pair | Node) -> list[str]:
        """Return the comment lines above an entry."""
        return self._before.get(id(entry), [])

    def beside(self, entry: Pair | Node) -> str:
        """Return the comment at the end of the line of an entry, or an empty text."""
        return self._beside.get(id(entry), "")

    def are_within(self, node: Node) -> bool:
        """Check whether an entry below a node has a comment."""
        return any(
            entry.key in self._before or entry.key in self._beside for entry in _entries(node)
        )

    def _attach(self, at: int, comment: str) -> None:
        owner = self._owner(at)
        after = bisect_right(self._starts, at)
        if owner is not None:
            self._beside[owner] = comment
        elif after < len(self._entries):
            self._put_before(self._entries[after].key, comment)
        else:
            self.last.append(comment)

    def _put_before(self, entry: int, comment: str) -> None:
        """Add a line above an entry, or above the list item that the entry begins."""
        while entry in self._begun_by:
            entry = self._begun_by[entry]
        self._before.setdefault(entry, []).append(comment)

    def _owner(self, at: int) -> int | None:
        """Return the entry before a comment on the same line."""
        end = bisect_right(self._starts, at)
        begun = bisect_right(self._starts, self._line_start(at) - 1)
        here = self._entries[begun:end]
        whole: _Entry | None = None
        for entry in here:
            is_outer = whole is None or entry.start >= whole.end
            if entry.end <= at and is_outer and not self._has_own_lines(entry):
                whole = entry
        if whole is not None:
            return whole.key
        return here[-1].key if here else None

    def _has_own_lines(self, entry: _Entry) -> bool:
        """Whether a list or map has several lines: comments then belong to single lines."""
        return entry.is_collection and self._text[entry.start] not in "[{"

    def _line_start(self, at: int) -> int:
        return max(self._text.rfind("\n", 0, at), self._text.rfind("\r", 0, at)) + 1


def _entries(node: Node) -> Iterator[_Entry]:
    """Yield the entries below a node in the order of the text, outer before inner."""
    if isinstance(node, Mapping):
        for pair in node.pairs:
            yield _Entry(pair.key.span.start, max(pair.key.span.end, pair.value.span.end), id(pair))
            yield from _entries(pair.value)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield _Entry(item.span.start, item.span.end, id(item), not isinstance(item, Scalar))
            yield from _entries(item)


def _beginnings(node: Node) -> Iterator[tuple[int, int]]:
    """Yield the first entry inside each list item, with that item."""
    if isinstance(node, Mapping):
        for pair in node.pairs:
            yield from _beginnings(pair.value)
    elif isinstance(node, Sequence):
        for item in node.items:
            for first in _entries(item):
                yield first.key, id(item)
                break
            yield from _beginnings(item)


def _scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Mapping):
        for pair in node.pairs:
            yield pair.key
            yield from _scalars(pair.value)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _scalars(item)
    else:
        yield node


def _found(text: str, span: Span, root: Node) -> Iterator[tuple[int, str]]:
    """Yield comments with their offsets: outside of scalars every `#` begins one."""
    at = span.start
    for scalar in _scalars(root):
        yield from _between(text, at, scalar.span.start)
        header = None if scalar.plain else _IN_HEADER.match(text, scalar.span.start)
        if header is not None:
            yield header.start(1), header[1].rstrip()
        at = scalar.span.end
    yield from _between(text, at, span.end)


def _between(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for found in _COMMENT.finditer(text, start, end):
        yield found.start(), found[0].rstrip()
