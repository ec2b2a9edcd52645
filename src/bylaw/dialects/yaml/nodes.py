"""What a YAML text is made of: scalars, sequences, mappings, each with its span in the source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from bylaw.model.source import Span

Value: TypeAlias = "bool | int | float | str | None"
Plain: TypeAlias = "Value | list[Plain] | dict[Value, Plain]"


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value; `plain` says that it stands without quotes and is no block of text."""

    value: Value
    span: Span
    plain: bool

    def to_python(self) -> Plain:
        """The value alone."""
        return self.value


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list; the span ends with its last item or bracket."""

    items: tuple[Node, ...]
    span: Span

    def to_python(self) -> Plain:
        """The values alone."""
        return [item.to_python() for item in self.items]


@dataclass(frozen=True, slots=True)
class Pair:
    """A key with its value."""

    key: Scalar
    value: Node


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys with values in the order of the text; no two keys are equal."""

    pairs: tuple[Pair, ...]
    span: Span

    def to_python(self) -> Plain:
        """The keys and values alone."""
        return {pair.key.value: pair.value.to_python() for pair in self.pairs}


Node: TypeAlias = "Scalar | Sequence | Mapping"
