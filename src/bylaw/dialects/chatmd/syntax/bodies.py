"""The start tag of an element that holds text → the element: only its end tag ends it.

`<insert>` and `<agent>` in rules hold the text of a message, `<call>` holds JSON, `<script>`
a program.
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
MAX_REREAD = 1024 * 1024  # characters of calls that turn out to be no JSON

# A text in JSON stands in one line; a quote without its partner there matches alone.
_JSON_MARK = re.compile(
    r'"(?:[^"\\\r\n]|\\[^\r\n])*"|"|<!--|[\[{(]|[\]})]|</call(?=[ \t\r\n\f\v>])'
)


def read_script(scan: Scan, tag: Tag) -> Element:
    """A program: everything up to the first end tag."""
    children = Children(tag.span.end)
    if tag.closed:
        return element(tag, children)
    end = scan.text.find(f"</{tag.name}>", children.end)
    if end < 0:
        return _cut(scan, tag, children, len(scan.text))
    children.text_until(end)
    return element(tag, children, Span(end, end + len(tag.name) + 3))


def read_body(scan: Scan, tag: Tag, outer: tuple[str, ...]) -> Element:
    """An element of rules that holds text; `outer` are the names of what it stands in."""
    if tag.name == "call":
        return _call(scan, tag, outer)
    if not scan.lost:
        found = _Body(scan, tag, ()).read()
        if found is not None:
            return found
    # It has no end tag, or one before it had none: this file is refused, and for what else is
    # wrong with it no body goes beyond what it stands in. So a search in vain is done only once.
    scan.lost = True
    bounded = _Body(scan, tag, outer)
    return bounded.read() or _cut(scan, tag, bounded.children, bounded.at)


class _Body:
    """The text of one element; tags of the same name nest, all others are text."""

    def __init__(self, scan: Scan, tag: Tag, outer: tuple[str, ...]) -> None:
        self._scan = scan
        self._tag = tag
        self._depth = 0
        self._outer = outer
        self.children = Children(tag.span.end)
        self.at = tag.span.end

    def read(self) -> Element | None:
        """The element; None if there is no end tag before the end of what it stands in."""
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
    """The end tag behind a value whose brackets match, so none inside a text or a comment."""
    if scan.reread > MAX_REREAD:
        return None
    at = _behind_json(scan.text, start)
    end = _END_TAG.match(scan.text, at)
    if end is None:
        scan.reread += at - start
        return None
    return Span(*end.span())


def _behind_json(text: str, start: int) -> int:
    """Where the first end tag stands that can be one, or where it is clear that none can."""
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
    # Where one was looked for in vain, none is behind it.
    for found in _END_TAG.finditer(scan.text, at) if names not in scan.endless else ():
        if found[1] in names:
            return Span(*found.span())
    scan.endless.add(names)
    return None


def _cut(scan: Scan, tag: Tag, children: Children, at: int) -> Element:
    """An element without its end tag."""
    scan.unclosed(tag)
    children.text_until(at)
    return element(tag, children)
