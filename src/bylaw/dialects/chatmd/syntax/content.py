"""The content of a message → its text, without layout.

White space around the text is layout. With RAW, the line breaks directly after the first `RAW|` and
before the last `|RAW` are layout, too. Everything else inside RAW is text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.nodes import Comment, Element, Raw, Text
from bylaw.dialects.chatmd.syntax.tags import BLANKS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bylaw.dialects.chatmd.syntax.nodes import Node
    from bylaw.model.source import SourceFile

# Indentation of ochat's command line: before `RAW|`, before each line, before `|RAW`.
_BEFORE_RAW, _BEFORE_LINE, _BEFORE_END = "\n\t", "\n\t\t", "\n\t"
# The tags around a text in old transcripts.
_OLD_RAW, _OLD_RAW_END = "<raw>", "</raw>"


def text_of(element: Element, source: SourceFile) -> str:
    """Return the text of a message, without inline elements."""
    return "".join(one for one in pieces(element, source) if isinstance(one, str))


def pieces(element: Element, source: SourceFile) -> tuple[str | Element, ...]:
    """Return the texts and inline elements of a message in their order. No text is empty."""
    nodes = [node for node in element.children if not isinstance(node, Comment)]
    texts = [_text(node, source) for node in nodes]
    raws = [at for at, node in enumerate(nodes) if isinstance(node, Raw)]
    if raws:
        _drop_layout_of_raw(nodes, texts, raws[0], raws[-1])
    _strip(nodes, texts, range(len(nodes)), str.lstrip)
    _strip(nodes, texts, reversed(range(len(nodes))), str.rstrip)
    if element.name == "msg" and not raws:
        _drop_old_raw(texts)
    return tuple(_joined(nodes, texts))


def _text(node: Node, source: SourceFile) -> str:
    if isinstance(node, Element):
        return ""
    return source.slice(node.inner if isinstance(node, Raw) else node.span)


def _drop_layout_of_raw(nodes: Sequence[Node], texts: list[str], first: int, last: int) -> None:
    if "".join(texts[:first]) == _BEFORE_RAW and _is_indented(texts[first]) and first == last:
        inner = texts[first][len(_BEFORE_LINE) : -len(_BEFORE_END)]
        texts[first] = inner.replace(_BEFORE_LINE, "\n")
    else:
        _drop_breaks(texts, first, last)
    for at in (*range(first), *range(last + 1, len(nodes))):
        if not texts[at].strip(BLANKS):
            texts[at] = ""


def _is_indented(inner: str) -> bool:
    return (
        inner.startswith(_BEFORE_LINE)
        and inner.endswith(_BEFORE_END)
        and len(inner) >= len(_BEFORE_LINE) + len(_BEFORE_END)
    )


def _drop_breaks(texts: list[str], first: int, last: int) -> None:
    # CRLF is removed only if both breaks are CRLF: the text may end in a carriage return.
    windows = texts[first].startswith("\r\n") and texts[last].endswith("\r\n")
    line_break = "\r\n" if windows else "\n"
    texts[first] = texts[first].removeprefix(line_break)
    texts[last] = texts[last].removesuffix(line_break)


def _strip(
    nodes: Sequence[Node], texts: list[str], order: Iterable[int], strip: Callable[[str, str], str]
) -> None:
    """Remove white space from one side, up to the first text or element."""
    for at in order:
        if isinstance(nodes[at], Text):
            texts[at] = strip(texts[at], BLANKS)
        if texts[at] or not isinstance(nodes[at], Text):
            return


def _drop_old_raw(texts: list[str]) -> None:
    """Remove `<raw>` and `</raw>` if they enclose the complete text."""
    whole = "".join(texts)
    if whole.startswith(_OLD_RAW) and whole.endswith(_OLD_RAW_END):
        inner = whole.removeprefix(_OLD_RAW).removesuffix(_OLD_RAW_END)
        texts[:] = [inner.strip(BLANKS), *("" for _ in texts[1:])]


def _joined(nodes: Sequence[Node], texts: Sequence[str]) -> Iterator[str | Element]:
    run: list[str] = []
    for node, text in zip(nodes, texts, strict=True):
        if isinstance(node, Element):
            if any(run):
                yield "".join(run)
            run = []
            yield node
        else:
            run.append(text)
    if any(run):
        yield "".join(run)
