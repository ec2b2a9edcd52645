"""The elements that are open at a place of the text, from the outermost to the innermost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.scan import MAX_DEPTH, Children, element
from bylaw.model.diagnostic import Label

if TYPE_CHECKING:
    from bylaw.dialects.chatmd.syntax.nodes import Element
    from bylaw.dialects.chatmd.syntax.scan import Scan
    from bylaw.dialects.chatmd.syntax.tags import Tag
    from bylaw.model.source import Span


class Opened:
    """Opened with one tag; `done` is its element once it is closed."""

    def __init__(self, scan: Scan, tag: Tag) -> None:
        self._scan = scan
        self._tags = [tag]
        self._children = [Children(tag.span.end)]
        self.done: Element | None = None

    @property
    def tag(self) -> Tag:
        """The innermost."""
        return self._tags[-1]

    @property
    def depth(self) -> int:
        """How many are open."""
        return len(self._tags)

    @property
    def children(self) -> Children:
        """What the innermost holds so far."""
        return self._children[-1]

    def open(self, tag: Tag) -> None:
        """Begin an element; one that closes itself is complete. Too deep, its tag is text."""
        if self.depth >= MAX_DEPTH:
            self._scan.refuse_depth(tag)
            return
        self.children.text_until(tag.span.start)
        self._tags.append(tag)
        self._children.append(Children(tag.span.end))
        if tag.closed:
            self._close(None)

    def knows(self, name: str) -> bool:
        """Whether an element of that name is open."""
        return any(tag.name == name for tag in self._tags)

    def end(self, name: str, end: Span) -> None:
        """An end tag: closes the element of that name and, as errors, what is open inside it."""
        self.children.text_until(end.start)
        found = (Label(end, "this comes before it"),) if end.end > end.start else ()
        while self.tag.name != name:
            self._scan.unclosed(self.tag, *found)
            self._close(None)
        self._close(end)

    def end_of_file(self, nested: Span | None = None) -> None:
        """What is still open has no end tag; `nested` may have taken the one of the outermost."""
        self.children.text_until(len(self._scan.text))
        labels = (Label(nested, "an end tag belongs to this"),) if nested else ()
        while self.done is None:
            self._scan.unclosed(self.tag, *(labels if self.depth == 1 else ()))
            self._close(None)

    def _close(self, end: Span | None) -> None:
        made = element(self._tags.pop(), self._children.pop(), end)
        if self._tags:
            self.children.add(made)
        else:
            self.done = made
