"""The nodes of a TOML document: tables, arrays and values, each with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from bylaw.model.source import Span


class Value(Struct, frozen=True):
    """A text, number, boolean or time."""

    value: Any
    span: Span

    def to_python(self) -> Any:
        """Return the value without places."""
        return self.value


class Array(Struct, frozen=True):
    """A list, or all tables of one `[[name]]`."""

    items: tuple[Node, ...]
    span: Span

    def to_python(self) -> list[Any]:
        """Return the values without places."""
        return [item.to_python() for item in self.items]


class Entry(Struct, frozen=True):
    """The place where a key is first written, and the node of its value."""

    key: Span
    node: Node


class Table(Struct, frozen=True):
    """Keys in the order of the text. The span is its header, or the complete inline table."""

    entries: dict[str, Entry]
    span: Span

    def get(self, key: str) -> Node | None:
        """Return the node of a value; None if the key is missing."""
        entry = self.entries.get(key)
        return None if entry is None else entry.node

    def to_python(self) -> dict[str, Any]:
        """Return the keys and values without places."""
        return {key: entry.node.to_python() for key, entry in self.entries.items()}


Node: TypeAlias = Value | Array | Table
