"""Read an element that contains text: only its end tag ends it.

`<insert>` and `<agent>` in rules contain the text of a message, `<call>` contains JSON, `<script>`
contains a program.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.marks import COMMENT, COMMENT_END
from bylaw.dialects.chatmd.syntax.scan import Children, element
from bylaw.dialects.chatmd.syntax.tags import BLANKS, NAME, NAME_ENDS, BrokenTag
from bylaw.model.source import Span

if TYPE_CHECKING:
    from bylaw.dialects.chatmd.syntax.marks import Mark
    from bylaw.dialects.chatmd.syntax.nodes import Element
    from bylaw.dialects.chatmd.syntax.scan import Scan
    from bylaw.dialects.chatmd.syntax.tags import Tag

_NAMED_TAG = re.compile(rf"<(?:!--|(/?)({NAME}){NAME_ENDS})")
_END_TAG = re.compile(rf"</({NAME})[{BLANKS}]*>")
END_TAG_ENDS = re.compile(rf"[{BLANKS}]*>")
MAX_REREAD = 1024 * 1024  # characters of calls that are not JSON

# A JSON string is on one line. A quote without a closing quote on its line matches alone.
_JSON_MARK = re.compile(
    r'"(?:[^"\\\r\n]|\\[^\r\n])*"|"|<!--|[\[{(]|[\]})]|</call(?=[ \t\r\n\f\v>])'
)


def read_script(scan: Scan, tag: Tag) -> Element:
    """Read a program: everything up to the first end tag."""
    children = Children(tag.span.end)
    if tag.closed:
        return element(tag, children)
    end = scan.text.find(f"</{tag.name}>", children.end)
    if end < 0:
        return _cut(scan, tag, children, len(scan.text))
    children.text_until(end)
    return element(tag, children, Span(end, end + len(tag.name) + 3))


def read_body(scan: Scan, tag: Tag, outer: tuple[str, ...]) -> Element:
    """Read an element of rules that contains text. `outer` has the names of its ancestors."""
    if tag.name == "call":
        return _call(scan, tag, outer)
    if not scan.lost:
        found = _Body(scan, tag, ()).read()
        if found is not None:
            return found
    # This body or an earlier one has no end tag, so the file is refused. To report its other
    # errors, each body now ends at the latest with an ancestor. So only one search goes too far.
    scan.lost = True
    bounded = _Body(scan, tag, outer)
    return bounded.read() or _cut(scan, tag, bounded.children, bounded.at)


class _Body:
    """Reads the text of one element. Tags of the same name nest; all other tags are text."""

    def __init__(self, scan: Scan, tag: Tag, outer: tuple[str, ...]) -> None:
        self._scan = scan
        self._tag = tag
        self._depth = 0
        self._outer = outer
        self.children = Children(tag.span.end)
        self.at = tag.span.end

    def read(self) -> Element | None:
        """Return the element; None if an ancestor or the file ends before its end tag."""
        while (mark := self._scan.marks.next(_NAMED_TAG, self.at)) is not None:
            self.at = mark.end
            if not mark.name:
                self.at = self._scan.add_plain(self.children, mark)
            elif mark.closing:
                end = END_TAG_ENDS.match(self._scan.text, self.at)
                if end and mark.name in self._outer:
                    self.at = mark.start
                    return None
                if end and mark.name == self._tag.name and self._closes():
                    self.children.text_until(mark.start)
                    return element(self._tag, self.children, Span(mark.start, end.end()))
            elif mark.name == self._tag.name:
                self._nested(mark)
        self.at = len(self._scan.text)
        return None

    def _closes(self) -> bool:
        self._depth -= 1
        return self._depth < 0

    def _nested(self, mark: Mark) -> None:
        tag = self._scan.tag(mark.start, mark.name, ours=True)
        if not isinstance(tag, BrokenTag):
            self._depth += not tag.closed
            self.at = tag.span.end


def _call(scan: Scan, tag: Tag, outer: tuple[str, ...]) -> Element:
    children = Children(tag.span.end)
    end = _end_behind_json(scan, children.end) or _first_end(scan, ("call",), children.end)
    if end is None:
        stop = _first_end(scan, outer, children.end)
        return _cut(scan, tag, children, stop.start if stop else len(scan.text))
    children.text_until(end.start)
    return element(tag, children, end)


def _end_behind_json(scan: Scan, start: int) -> Span | None:
    """Return the end tag after a value with matching brackets. Skips texts and comments."""
    if scan.reread > MAX_REREAD:
        return None
    at = _behind_json(scan.text, start)
    end = _END_TAG.match(scan.text, at)
    if end is None:
        scan.reread += at - start
        return None
    return Span(*end.span())


def _behind_json(text: str, start: int) -> int:
    """Return the place of the first possible end tag, or where it is clear that none follows."""
    depth, at = 0, start
    while (mark := _JSON_MARK.search(text, at)) is not None:
        at, found = mark.end(), mark[0]
        if found == COMMENT:
            comment_end = text.find(COMMENT_END, at)
            if comment_end < 0:
                break
            at = comment_end + len(COMMENT_END)
        elif found == '"':
            return at
        elif len(found) == 1:
            depth += 1 if found in "[{(" else -1
        elif found[0] == "<":
            return at if depth else mark.start()
    return len(text)


def _first_end(scan: Scan, names: tuple[str, ...], at: int) -> Span | None:
    # If an earlier search found nothing, there is nothing to find after it.
    for found in _END_TAG.finditer(scan.text, at) if names not in scan.endless else ():
        if found[1] in names:
            return Span(*found.span())
    scan.endless.add(names)
    return None


def _cut(scan: Scan, tag: Tag, children: Children, at: int) -> Element:
    """Return an element without an end tag, and report it."""
    scan.unclosed(tag)
    children.text_until(at)
    return element(tag, children)
