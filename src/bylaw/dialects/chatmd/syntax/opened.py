"""The stack of open elements, from the outermost to the innermost."""

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
    """A stack that starts with one tag. `done` is the element of that tag after its end."""

    def __init__(self, scan: Scan, tag: Tag) -> None:
        self._scan = scan
        self._tags = [tag]
        self._children = [Children(tag.span.end)]
        self.done: Element | None = None

    @property
    def tag(self) -> Tag:
        """The innermost open tag."""
        return self._tags[-1]

    @property
    def depth(self) -> int:
        """The number of open elements."""
        return len(self._tags)

    @property
    def children(self) -> Children:
        """The content of the innermost element so far."""
        return self._children[-1]

    def open(self, tag: Tag) -> None:
        """Add an element, and open it unless its tag closes itself. If too deep, it is text."""
        if self.depth >= MAX_DEPTH:
            self._scan.refuse_depth(tag)
            return
        self.children.text_until(tag.span.start)
        self._tags.append(tag)
        self._children.append(Children(tag.span.end))
        if tag.closed:
            self._close(None)

    def knows(self, name: str) -> bool:
        """Return whether an element with this name is open."""
        return any(tag.name == name for tag in self._tags)

    def end(self, name: str, end: Span) -> None:
        """Close the element with this name. Elements that are still open in it are errors."""
        self.children.text_until(end.start)
        found = (Label(end, "this end tag comes first"),) if end.end > end.start else ()
        while self.tag.name != name:
            self._scan.unclosed(self.tag, *found)
            self._close(None)
        self._close(end)

    def end_of_file(self, nested: Span | None = None) -> None:
        """Close all open elements as errors. `nested` may have taken the outermost end tag."""
        self.children.text_until(len(self._scan.text))
        labels = (Label(nested, "the end tag closes this tag"),) if nested else ()
        while self.done is None:
            self._scan.unclosed(self.tag, *(labels if self.depth == 1 else ()))
            self._close(None)

    def _close(self, end: Span | None) -> None:
        made = element(self._tags.pop(), self._children.pop(), end)
        if self._tags:
            self.children.add(made)
        else:
            self.done = made
