"""Read a message: text with a few inline elements.

Every other tag is text. A message ends at its own end tag. A tag of the same name inside it is
text together with its end tag, so that a message can contain an example of a message.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.element_reading import ElementReading
from bylaw.dialects.chatmd.syntax.names import INLINE, LEAVES
from bylaw.dialects.chatmd.syntax.scan import KNOWN_TAGS
from bylaw.dialects.chatmd.syntax.tags import BrokenTag
from bylaw.model.codes.chatmd import CHATMD_KEPT_AS_TEXT
from bylaw.model.source import Span

if TYPE_CHECKING:
    from bylaw.dialects.chatmd.syntax.marks import Mark
    from bylaw.dialects.chatmd.syntax.nodes import Element
    from bylaw.dialects.chatmd.syntax.scan import Scan
    from bylaw.dialects.chatmd.syntax.tags import Tag

# The model writes these without escapes, so a start tag in them rarely has an end tag.
_NEVER_NEST = frozenset(("reasoning", "summary"))
_WHOLE_TAG = re.compile(r"[^<>]*>")


def read_message(scan: Scan, tag: Tag) -> Element:
    """Read the message that starts with this tag."""
    return scan.flat(tag) or _Message(scan, tag).read()


class _Message(ElementReading):
    """Reads one message."""

    MARKS = KNOWN_TAGS

    def __init__(self, scan: Scan, tag: Tag) -> None:
        super().__init__(scan, tag, scan.warnings)
        self._name = tag.name
        # The number of open start tags of the same name. They and their end tags are text.
        self._nested = 0
        self._warned = False

    def _end_tag(self, mark: Mark) -> int:
        name, end = mark.name, mark.end
        if not self._scan.text.startswith(">", end):
            return end  # `</user >` is text
        inner = self._opened.depth > 1 and name == self._opened.tag.name
        if name == self._name and self._nested and not inner:
            self._nested -= 1
        elif name == self._name or inner:
            self._opened.end(name, Span(mark.start, end + 1))
        return end + 1

    def _start_tag(self, mark: Mark) -> int:
        name = mark.name
        if not self._is_element(name):
            return self._text_tag(mark)
        tag = self._scan.tag(mark.start, name)
        if isinstance(tag, BrokenTag):
            return mark.end
        if name in LEAVES:
            leaf = self._scan.leaf(tag)
            self._opened.children.add(leaf)
            return leaf.span.end
        self._opened.open(tag)
        return tag.span.end

    def _is_element(self, name: str) -> bool:
        if name == "summary":
            return self._opened.tag.name == "reasoning"
        return name in INLINE

    def _text_tag(self, mark: Mark) -> int:
        """Read a tag that is text here, but an element in other places."""
        if not self._warned and (whole := _WHOLE_TAG.match(self._scan.text, mark.end)):
            self._warn(Span(mark.start, whole.end()), mark.name)
        if mark.name != self._name or mark.name in _NEVER_NEST:
            return mark.end
        tag = self._scan.tag(mark.start, mark.name)
        if isinstance(tag, BrokenTag):
            return mark.end
        if not tag.closed:
            self._nested += 1
            self._first_nested = self._first_nested or tag.span
        return tag.span.end

    def _warn(self, place: Span, name: str) -> None:
        self._warned = True
        headline = f"`<{name}>` inside `<{self._name}>` is kept as text"
        help_ = "put text with tags in `RAW|…|RAW`; other readers may drop it"
        self._scan.warn(CHATMD_KEPT_AS_TEXT, headline, place, help_)
