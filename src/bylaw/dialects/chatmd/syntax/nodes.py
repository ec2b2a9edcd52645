"""The tree of a ChatMD text. Every character of the file belongs to exactly one leaf.

`write` returns the exact text of a tree. The tree does not know what elements mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from bylaw.dialects.chatmd.syntax.entities import places

if TYPE_CHECKING:
    from bylaw.model.source import SourceFile, Span

# A tree has no cycles, so the garbage collector need not track its nodes (`gc=False`).


class Attribute(Struct, frozen=True, gc=False):
    """One attribute of a tag. A flag has no value.

    `value` is decoded. `value_span` is the place of the text between the quotes.
    """

    name: str
    value: str | None
    span: Span
    value_span: Span
    quoted: bool

    def places(self, source: SourceFile) -> tuple[int, ...]:
        """Return the places of the characters of the value and of its end, for `Embedded`."""
        return places(source.slice(self.value_span), self.value_span.start, decoded=self.quoted)


class Text(Struct, frozen=True, gc=False):
    """Plain text. Entities in it are not decoded."""

    span: Span


class Raw(Struct, frozen=True, gc=False):
    """`RAW|…|RAW`. `inner` is the place of the text between the marks."""

    span: Span
    inner: Span


class Comment(Struct, frozen=True, gc=False):
    """`<!-- … -->`."""

    span: Span


class Element(Struct, frozen=True, gc=False):
    """An element with its attributes and its content.

    `start` is the place of its start tag, `end` that of its end tag. `end` is empty and after the
    content if the tag closes itself, for an old `<doc … local>` without an end tag, or after an
    error.
    """

    name: str
    attributes: tuple[Attribute, ...]
    children: tuple[Node, ...]
    span: Span
    start: Span
    end: Span

    def attribute(self, name: str) -> Attribute | None:
        """Return the attribute with this name. If there are several, the last one is used."""
        found = [one for one in self.attributes if one.name == name]
        return found[-1] if found else None

    def value(self, name: str, default: str = "") -> str:
        """Return the value of an attribute. A flag or a missing attribute has the default."""
        found = self.attribute(name)
        return default if found is None or found.value is None else found.value


Node: TypeAlias = Text | Raw | Comment | Element


class Document(Struct, frozen=True, gc=False):
    """A complete file."""

    source: SourceFile
    children: tuple[Node, ...]

    @property
    def elements(self) -> tuple[Element, ...]:
        """The elements at the top of the file."""
        return tuple(node for node in self.children if isinstance(node, Element))
