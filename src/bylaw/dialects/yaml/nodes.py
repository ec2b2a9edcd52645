"""The nodes of a YAML text: scalars, sequences and mappings, each with its span in the source.

A text may have a hundred thousand nodes. They form a tree, so the garbage collector does not need
to track them (`gc=False`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from bylaw.model.source import Span

Value: TypeAlias = "bool | int | float | str | None"
Plain: TypeAlias = "Value | list[Plain] | dict[Value, Plain]"


class Scalar(Struct, frozen=True, gc=False):
    """One value. `plain` is true if it is written without quotes and not as a block."""

    value: Value
    span: Span
    plain: bool

    def to_python(self) -> Plain:
        """Return the value without spans."""
        return self.value


class Sequence(Struct, frozen=True, gc=False):
    """A list. The span ends after its last item or its bracket."""

    items: tuple[Node, ...]
    span: Span

    def to_python(self) -> Plain:
        """Return the values without spans."""
        return [item.to_python() for item in self.items]


class Pair(Struct, frozen=True, gc=False):
    """A key with its value."""

    key: Scalar
    value: Node


class Mapping(Struct, frozen=True, gc=False):
    """Keys with values in the order of the text. All keys are different."""

    pairs: tuple[Pair, ...]
    span: Span

    def to_python(self) -> Plain:
        """Return the keys and values without spans."""
        return {pair.key.value: pair.value.to_python() for pair in self.pairs}


Node: TypeAlias = "Scalar | Sequence | Mapping"
