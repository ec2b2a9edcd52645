"""What a YAML text is made of: scalars, sequences, mappings, each with its span in the source.

A text may have a hundred thousand of them. They form a tree, so nobody has to look for cycles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from bylaw.model.source import Span

Value: TypeAlias = "bool | int | float | str | None"
Plain: TypeAlias = "Value | list[Plain] | dict[Value, Plain]"


class Scalar(Struct, frozen=True, gc=False):
    """One value; `plain` says that it stands without quotes and is no block of text."""

    value: Value
    span: Span
    plain: bool

    def to_python(self) -> Plain:
        """The value alone."""
        return self.value


class Sequence(Struct, frozen=True, gc=False):
    """A list; the span ends with its last item or bracket."""

    items: tuple[Node, ...]
    span: Span

    def to_python(self) -> Plain:
        """The values alone."""
        return [item.to_python() for item in self.items]


class Pair(Struct, frozen=True, gc=False):
    """A key with its value."""

    key: Scalar
    value: Node


class Mapping(Struct, frozen=True, gc=False):
    """Keys with values in the order of the text; no two keys are equal."""

    pairs: tuple[Pair, ...]
    span: Span

    def to_python(self) -> Plain:
        """The keys and values alone."""
        return {pair.key.value: pair.value.to_python() for pair in self.pairs}


Node: TypeAlias = "Scalar | Sequence | Mapping"
