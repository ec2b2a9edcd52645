"""The tree of a ChatMD text: every character of the file belongs to exactly one leaf of it.

`write` of a tree gives the very text back. What an element means is not decided here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from bylaw.dialects.chatmd.syntax.entities import places

if TYPE_CHECKING:
    from bylaw.model.source import SourceFile, Span

# A tree cannot hold itself, so the collector of garbage need not walk it.


class Attribute(Struct, frozen=True, gc=False):
    """One attribute of a tag; a flag has no value.

    `value` is decoded, `value_span` what stands between the quotes. `places` is where each
    character of the value stands in the file, and behind the last one its end.
    """

    name: str
    value: str | None
    span: Span
    value_span: Span
    quoted: bool

    def places(self, source: SourceFile) -> tuple[int, ...]:
        """For findings inside the value, see `model.embedded`."""
        return places(source.slice(self.value_span), self.value_span.start, decoded=self.quoted)


class Text(Struct, frozen=True, gc=False):
    """Characters that stand for themselves; entities are not decoded."""

    span: Span


class Raw(Struct, frozen=True, gc=False):
    """`RAW|…|RAW`; `inner` is what stands between the marks."""

    span: Span
    inner: Span


class Comment(Struct, frozen=True, gc=False):
    """`<!-- … -->`."""

    span: Span


class Element(Struct, frozen=True, gc=False):
    """A tag that is known where it stands, with what it holds.

    `start` is its start tag, `end` its end tag: empty, behind everything else, when it closes
    itself, when it is an old `<doc … local>` that was never closed, or after an error.
    """

    name: str
    attributes: tuple[Attribute, ...]
    children: tuple[Node, ...]
    span: Span
    start: Span
    end: Span

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name; of several the last one counts."""
        found = [one for one in self.attributes if one.name == name]
        return found[-1] if found else None

    def value(self, name: str, default: str = "") -> str:
        """The value of an attribute; a flag, or none, has the default."""
        found = self.attribute(name)
        return default if found is None or found.value is None else found.value


Node: TypeAlias = Text | Raw | Comment | Element


class Document(Struct, frozen=True, gc=False):
    """A whole file."""

    source: SourceFile
    children: tuple[Node, ...]

    @property
    def elements(self) -> tuple[Element, ...]:
        """What stands at the top."""
        return tuple(node for node in self.children if isinstance(node, Element))
