"""Tree → text, and message → the text of a block that reads back as this message."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.chatmd.syntax.entities import encoded
from bylaw.dialects.chatmd.syntax.marks import RAW, RAW_END
from bylaw.dialects.chatmd.syntax.nodes import Element
from bylaw.dialects.chatmd.syntax.tags import BLANKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bylaw.dialects.chatmd.syntax.nodes import Document, Node
    from bylaw.model.source import SourceFile

# Not allowed in a file: lone surrogates are not UTF-8, and many programs stop at NUL.
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")
_NEEDS_RAW = re.compile(r"[<\x00-\x09\x0b-\x1f\x7f-\x9f]|RAW\||\|RAW")
_ONLY_QUOTED = re.compile(rf"[{BLANKS}<>]|\A[\"']")


def write(document: Document) -> str:
    """Return the text of the file, from all leaves of the tree."""
    return "".join(_pieces(document.children, document.source))


def _pieces(nodes: Sequence[Node], source: SourceFile) -> Iterator[str]:
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
    written = "".join(f" {key}={_value(writable(value))}" for key, value in attributes.items())
    return f"<{name}{written}>{_content(writable(text))}</{name}>\n"


def writable(text: str) -> str:
    """Replace the characters that are not allowed in a file."""
    return _UNWRITABLE.sub("\ufffd", text)


def _value(value: str) -> str:
    if not value.endswith("\\"):
        return f'"{encoded(value)}"'
    if _ONLY_QUOTED.search(value):
        raise ValueError(f"a tag cannot contain the value {value!r}")
    return value


def _content(text: str) -> str:
    if _NEEDS_RAW.search(text) or text != text.strip():
        # A `|RAW` in the text goes between two RAWs, where it is plain text.
        payload = text.replace(RAW_END, f"{RAW_END}{RAW_END}{RAW}")
        return f"\n{RAW}\n{payload}\n{RAW_END}\n"
    return f"\n{text}\n" if "\n" in text else text
