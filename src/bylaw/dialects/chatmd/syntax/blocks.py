"""Read a block that contains elements.

In `<rules>` and `<policy>` every tag is an element, even an unknown one: later code reports it. The
same is true in `<tool>` and `<shell_access>`, whose tags are read in the way of ochat.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.bodies import END_TAG_ENDS, read_body
from bylaw.dialects.chatmd.syntax.element_reading import ElementReading
from bylaw.dialects.chatmd.syntax.names import BODIES, OURS
from bylaw.dialects.chatmd.syntax.scan import Children, element
from bylaw.dialects.chatmd.syntax.tags import NAME, NAME_ENDS, BrokenTag
from bylaw.model.codes.chatmd import CHATMD_BROKEN_TAG
from bylaw.model.source import Span

if TYPE_CHECKING:
    from bylaw.dialects.chatmd.syntax.marks import Mark
    from bylaw.dialects.chatmd.syntax.nodes import Element
    from bylaw.dialects.chatmd.syntax.scan import Scan
    from bylaw.dialects.chatmd.syntax.tags import Tag

_ANY_MARK = re.compile(rf"<(?:!--|(/?)({NAME}))")
_NAME_ENDS = re.compile(NAME_ENDS)


def read_block(scan: Scan, tag: Tag) -> Element:
    """Read the block that starts with this tag."""
    return element(tag, Children(tag.span.end)) if tag.closed else _Block(scan, tag).read()


class _Block(ElementReading):
    """Reads one block."""

    MARKS = _ANY_MARK

    def __init__(self, scan: Scan, tag: Tag) -> None:
        super().__init__(scan, tag, scan.errors)
        self._block = tag.name
        self._ours = tag.name in OURS

    def _end_tag(self, mark: Mark) -> int:
        rest = END_TAG_ENDS.match(self._scan.text, mark.end)
        if rest is None:
            return self._broken(mark)
        place = Span(mark.start, rest.end())
        if self._opened.knows(mark.name):
            self._opened.end(mark.name, place)
        else:
            self._scan.refuse_end(mark.name, place)
        return rest.end()

    def _start_tag(self, mark: Mark) -> int:
        if _NAME_ENDS.match(self._scan.text, mark.end) is None:
            return self._broken(mark)
        tag = self._scan.tag(mark.start, mark.name, ours=self._ours)
        if isinstance(tag, BrokenTag):
            self._scan.refuse_tag(mark.name, tag)
            return mark.end
        if self._ours and tag.name in BODIES and not tag.closed:
            body = read_body(self._scan, tag, (self._block, self._opened.tag.name))
            self._opened.children.add(body)
            return body.span.end
        self._opened.open(tag)
        return tag.span.end

    def _broken(self, mark: Mark) -> int:
        headline = f"`{self._scan.text[mark.start : mark.end]}` is not a complete tag"
        help_ = "end the name with a blank, `>` or `/>`; write `&lt;` for a `<` in a value"
        self._scan.refuse(CHATMD_BROKEN_TAG, headline, Span(mark.start, mark.end), help_)
        return mark.end
