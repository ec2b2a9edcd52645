"""The content of a message → its text, and a message → the text of a block.

White space around the text is layout. With RAW, the line breaks directly after the first `RAW|` and
before the last `|RAW` are layout, too. Everything else inside RAW is text. The text of `<insert>`
and `<agent>` in rules is kept verbatim, without common indentation (CM-A45, CM-138).
`write` returns the exact text of a tree.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.languages.chatmd.scanner import (
    BLANKS,
    RAW,
    RAW_END,
    CommentNode,
    Element,
    RawNode,
    TextNode,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from bylaw.languages.chatmd.elements import ElementReader
    from bylaw.languages.chatmd.scanner import ChatDocument, ChatmdNode
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
    nodes = [node for node in element.children if not isinstance(node, CommentNode)]
    texts = [_text(node, source) for node in nodes]
    raws = [at for at, node in enumerate(nodes) if isinstance(node, RawNode)]
    if raws:
        _drop_layout_of_raw(nodes, texts, raws[0], raws[-1])
    _strip(nodes, texts, range(len(nodes)), str.lstrip)
    _strip(nodes, texts, reversed(range(len(nodes))), str.rstrip)
    if element.name == "msg" and not raws:
        _drop_old_raw(texts)
    return tuple(_join_texts(nodes, texts))


def _text(node: ChatmdNode, source: SourceFile) -> str:
    if isinstance(node, Element):
        return ""
    return source.slice(node.inner if isinstance(node, RawNode) else node.span)


def _drop_layout_of_raw(
    nodes: Sequence[ChatmdNode], texts: list[str], first: int, last: int
) -> None:
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
    nodes: Sequence[ChatmdNode],
    texts: list[str],
    order: Iterable[int],
    strip: Callable[[str, str], str],
) -> None:
    """Remove white space from one side, up to the first text or element."""
    for at in order:
        if isinstance(nodes[at], TextNode):
            texts[at] = strip(texts[at], BLANKS)
        if texts[at] or not isinstance(nodes[at], TextNode):
            return


def _drop_old_raw(texts: list[str]) -> None:
    """Remove `<raw>` and `</raw>` if they enclose the complete text."""
    whole = "".join(texts)
    if whole.startswith(_OLD_RAW) and whole.endswith(_OLD_RAW_END):
        inner = whole.removeprefix(_OLD_RAW).removesuffix(_OLD_RAW_END)
        texts[:] = [inner.strip(BLANKS), *("" for _ in texts[1:])]


def _join_texts(nodes: Sequence[ChatmdNode], texts: Sequence[str]) -> Iterator[str | Element]:
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


# Not allowed in a file: lone surrogates are not UTF-8, and many programs stop at NUL.
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
_NEEDS_RAW = re.compile(r"[<\x00-\x09\x0b-\x1f\x7f-\x9f]|RAW\||\|RAW")
_ONLY_QUOTED = re.compile(rf"[{BLANKS}<>]|\A[\"']")


def write(document: ChatDocument) -> str:
    """Return the text of the file, from all leaves of the tree."""
    return "".join(_pieces(document.children, document.source))


def _pieces(nodes: Sequence[ChatmdNode], source: SourceFile) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Element):
            yield source.slice(node.start)
            yield from _pieces(node.children, source)
            yield source.slice(node.end)
        else:
            yield source.slice(node.span)


def block(name: str, attributes: Mapping[str, str], text: str) -> str:
    """Return one message as a block. Any text reads back as this one message.

    Lone surrogates and NUL become U+FFFD. Raises ValueError if no tag can contain the value of an
    attribute. That is a value that ends in a backslash, and that contains white space, `<` or `>`
    or starts with a quote: it needs quotes, but a backslash before a quote keeps the value open.
    """
    written = "".join(f" {key}={_value(to_writable(value))}" for key, value in attributes.items())
    return f"<{name}{written}>{_content(to_writable(text))}</{name}>\n"


def to_writable(text: str) -> str:
    """Replace the characters that are not allowed in a file."""
    return _UNWRITABLE.sub("\ufffd", text)


def _value(value: str) -> str:
    if not value.endswith("\\"):
        return f'"{encode(value)}"'
    if _ONLY_QUOTED.search(value):
        raise ValueError(f"a tag cannot contain the value {value!r}")
    return value


def _content(text: str) -> str:
    if _NEEDS_RAW.search(text) or text != text.strip():
        # A `|RAW` in the text goes between two RAWs, where it is plain text.
        payload = text.replace(RAW_END, f"{RAW_END}{RAW_END}{RAW}")
        return f"\n{RAW}\n{payload}\n{RAW_END}\n"
    return f"\n{text}\n" if "\n" in text else text


INDENT = " \t"


def message_text(reader: ElementReader) -> str:
    """Return the text without comments, common indentation and outer blank lines. Keeps RAW."""
    children = reader.element.children
    if any(isinstance(node, RawNode) for node in children):
        return text_of(reader.element, reader.source)
    return dedent("".join(reader.source.slice(n.span) for n in children if isinstance(n, TextNode)))


def dedent(text: str) -> str:
    """Remove the common indentation of all lines, and blank lines before and after the text."""
    lines = text.split("\n")
    spoken = [number for number, line in enumerate(lines) if line.strip()]
    if not spoken:
        return ""
    kept = lines[spoken[0] : spoken[-1] + 1]
    indent = _common_indent([line for line in kept if line.strip()])
    joined = "\n".join(_cut(line, indent) for line in kept)
    # The line break after the last line was removed. If it was CRLF, remove its CR, too.
    return joined.removesuffix("\r") if spoken[-1] + 1 < len(lines) else joined


def _common_indent(lines: list[str]) -> int:
    indents = [line[: _indent(line)] for line in lines]
    first, last = min(indents), max(indents)
    pairs = zip(first, last, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(first))


def _cut(line: str, indent: int) -> str:
    # A blank line may be shorter than the indentation.
    return line[min(indent, _indent(line)) :]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(INDENT))
