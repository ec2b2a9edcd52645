"""The text of a ChatMD file → its tree, with every character, and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.blocks import read_block
from bylaw.dialects.chatmd.syntax.bodies import read_script
from bylaw.dialects.chatmd.syntax.messages import read_message
from bylaw.dialects.chatmd.syntax.names import ARCHIVE, IDLE_AT_TOP, LEAVES, OURS, STRUCTURED
from bylaw.dialects.chatmd.syntax.nodes import Document
from bylaw.dialects.chatmd.syntax.opened import Opened
from bylaw.dialects.chatmd.syntax.outside import warn_of_text
from bylaw.dialects.chatmd.syntax.scan import KNOWN_TAGS, Scan
from bylaw.dialects.chatmd.syntax.tags import BrokenTag, Tag
from bylaw.model.codes.chatmd import CHATMD_NO_EFFECT_HERE
from bylaw.model.diagnostic import in_order
from bylaw.model.source import Span

if TYPE_CHECKING:
    from bylaw.dialects.chatmd.syntax.marks import Mark
    from bylaw.dialects.chatmd.syntax.nodes import Element
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.source import SourceFile

_WHOLE_FILE = Tag("", (), Span(0, 0), closed=False)


def parse(source: SourceFile) -> tuple[Document, list[Diagnostic]]:
    """Parse a text, even one with errors. The findings are in the order of the text."""
    scan = Scan(source)
    opened = Opened(scan, _WHOLE_FILE)
    at = 0
    while (mark := scan.marks.next(KNOWN_TAGS, at)) is not None:
        at = _take(scan, opened, mark)
    end = len(source.text)
    opened.end(_WHOLE_FILE.name, Span(end, end))
    assert opened.done is not None
    children = opened.done.children
    warn_of_text(scan, children)
    return Document(source, children), in_order([*scan.errors, *scan.warnings])


def _take(scan: Scan, opened: Opened, mark: Mark) -> int:
    """Read what starts at a mark, and return where it ends."""
    if not mark.name:
        return scan.add_plain(opened.children, mark)
    if mark.closing:
        return _end_tag(scan, opened, mark)
    tag = scan.tag(mark.start, mark.name, ours=mark.name in OURS)
    if isinstance(tag, BrokenTag):
        scan.refuse_tag(mark.name, tag)
        return mark.end
    if mark.name == ARCHIVE:
        opened.open(tag)
        return tag.span.end
    element = _element(scan, tag)
    opened.children.add(element)
    return element.span.end


def _end_tag(scan: Scan, opened: Opened, mark: Mark) -> int:
    end = mark.end
    if not scan.text.startswith(">", end):
        return end
    place = Span(mark.start, end + 1)
    if opened.knows(mark.name):
        opened.end(mark.name, place)
    else:
        scan.refuse_end(mark.name, place)
    return end + 1


def _element(scan: Scan, tag: Tag) -> Element:
    if tag.name in IDLE_AT_TOP:
        _warn_of_idle(scan, tag)
    if tag.name in LEAVES:
        return scan.leaf(tag)
    if tag.name in STRUCTURED:
        return read_block(scan, tag)
    return read_script(scan, tag) if tag.name == "script" else read_message(scan, tag)


def _warn_of_idle(scan: Scan, tag: Tag) -> None:
    headline = f"`<{tag.name}>` has no effect here"
    where = "`<reasoning>`" if tag.name == "summary" else "a message, such as `<user>`"
    scan.warn(CHATMD_NO_EFFECT_HERE, headline, tag.span, f"move it into {where}")
