"""The nodes of a TOML document: tables, arrays and values, each with its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from bylaw.model.source import Span


@dataclass(frozen=True, slots=True)
class Value:
    """A text, number, boolean or time."""

    value: Any
    span: Span

    def to_python(self) -> Any:
        """The plain value."""
        return self.value


@dataclass(frozen=True, slots=True)
class Array:
    """A list, or all tables of one `[[name]]`."""

    items: tuple[Node, ...]
    span: Span

    def to_python(self) -> list[Any]:
        """The plain value."""
        return [item.to_python() for item in self.items]


@dataclass(frozen=True, slots=True)
class Entry:
    """A key as it was first written, and what it stands for."""

    key: Span
    node: Node


@dataclass(frozen=True, slots=True)
class Table:
    """Keys in the order of the text; the span is its header, or the whole inline table."""

    entries: dict[str, Entry]
    span: Span

    def get(self, key: str) -> Node | None:
        """What a key stands for."""
        entry = self.entries.get(key)
        return None if entry is None else entry.node

    def to_python(self) -> dict[str, Any]:
        """The plain value."""
        return {key: entry.node.to_python() for key, entry in self.entries.items()}


Node: TypeAlias = Value | Array | Table
