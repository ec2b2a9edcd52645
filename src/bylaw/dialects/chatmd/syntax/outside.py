"""Text outside of elements → one warning for each run of it."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.names import ARCHIVE, KNOWN
from bylaw.dialects.chatmd.syntax.nodes import Comment, Element
from bylaw.dialects.chatmd.syntax.tags import NAME
from bylaw.model.codes.chatmd import CHATMD_TEXT_OUTSIDE
from bylaw.model.source import BOM, Span
from bylaw.model.suggest import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.dialects.chatmd.syntax.nodes import Node
    from bylaw.dialects.chatmd.syntax.scan import Scan

_SHOWN_LINE = re.compile(rf"[^\s{BOM}][^\r\n]*")
_ANY_TAG = re.compile(rf"</?({NAME})")
MAX_TAGS = 20  # tags of a run that are compared with known names


def warn_of_text(scan: Scan, children: Iterable[Node]) -> None:
    """Warn about text at the top and in archives, once for each run."""
    warned = False
    for node in children:
        if isinstance(node, Element):
            warned = False
            _warn_inside(scan, node)
        elif not isinstance(node, Comment):
            warned = warned or (scan.warns and _warn(scan, node.span))


def _warn_inside(scan: Scan, element: Element) -> None:
    if element.name == ARCHIVE:
        warn_of_text(scan, element.children)


def _warn(scan: Scan, run: Span) -> bool:
    shown = _SHOWN_LINE.search(scan.text, run.start, run.end)
    if shown is None or any(run.start <= one.span.start < run.end for one in scan.errors):
        return shown is not None
    for tag in islice(_ANY_TAG.finditer(scan.text, run.start, run.end), MAX_TAGS):
        if tag[1] not in KNOWN and (near := nearest(tag[1], KNOWN)):
            headline = f"`{tag[0]}` is not an element: it is kept as text, but no model sees it"
            help_ = f"did you mean `{near}`?"
            scan.warn(CHATMD_TEXT_OUTSIDE, headline, Span(*tag.span()), help_)
            return True
    headline = "text outside of elements is kept, but no model sees it"
    help_ = "move it into a message, such as `<user>`, or into a comment"
    scan.warn(CHATMD_TEXT_OUTSIDE, headline, Span(*shown.span()), help_)
    return True
