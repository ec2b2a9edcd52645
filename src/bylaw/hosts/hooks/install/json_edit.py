"""Insert a value into a JSON text or remove it, and leave all other text unchanged.

Inserting a value and then removing it restores the text. Indentation and line ends follow the text
around.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bylaw.hosts.hooks.install.json_text import Document, Node
    from bylaw.model.values import JSON

_BLANK = " \t\r\n"
_INDENT = re.compile(r"\n([ \t]+)\S")
_LINE_END = re.compile(r"\r?\n")
# Comments after a value on its line.
_REMARKS = re.compile(r"(?:[ \t]*(?:/\*[^\r\n]*?\*/|//[^\r\n]*))*")
_DEFAULT_INDENT = "  "


def put_in(document: Document, container: Node, value: JSON, key: str = "") -> str:
    """Return the text with one more element or member at the end of a list or object."""
    layout = _Layout(document, container)
    item = layout.laid_out(value, key)
    if not container.children:
        return _filled(document, container, layout, item)
    text, last = document.text, container.children[-1]
    behind = last.end if last.comma < 0 else last.comma + 1
    remarks = _REMARKS.match(text, behind)
    assert remarks is not None, "the pattern also matches an empty text"
    at = remarks.end()
    between = layout.lead if layout.spread or at in document.line_comments else " "
    if last.comma < 0:
        return f"{text[:behind]},{text[behind:at]}{between}{item}{text[at:]}"
    return f"{text[:at]}{between}{item},{text[at:]}"


def _filled(document: Document, container: Node, layout: _Layout, item: str) -> str:
    """Return the text with the first child in an empty list or object."""
    text, first, last = document.text, container.start + 1, container.end - 1
    inside = text[first:last]
    kept = inside.rstrip(_BLANK)
    if kept:  # comments stay above the child
        between = layout.lead if layout.spread or "\n" in inside else " "
        return f"{text[:first]}{kept}{between}{item}{inside[len(kept) :]}{text[last:]}"
    if layout.spread:
        item = f"{layout.lead}{item}{layout.line_end}{layout.around}"
    return f"{text[:first]}{item}{text[last:]}"


def take_out(document: Document, container: Node, index: int, empty: str = "") -> str:
    """Return the text without a child; `empty` is left between brackets that become empty."""
    text, child = document.text, container.children[index]
    behind = _behind(text, child)
    start = _start(document, child, behind)
    if child.comma >= 0:
        is_first = index == 0 and start == child.begin
        return text[:start] + (behind.lstrip(" \t") if is_first else behind)
    if index:
        comma = container.children[index - 1].comma
        return f"{text[:comma]}{text[comma + 1 : start]}{behind}"
    first, last = container.start + 1, container.end - 1
    inside = text[first:start] + text[child.end : last]
    return f"{text[:first]}{inside if inside.strip(_BLANK) else empty}{text[last:]}"


def _behind(text: str, child: Node) -> str:
    """Return the text after a child, without its comma. Comments before the comma stay."""
    if child.comma < 0:
        return text[child.end :]
    remarks = text[child.end : child.comma]
    return (remarks if remarks.strip(_BLANK) else "") + text[child.comma + 1 :]


def _start(document: Document, child: Node, behind: str) -> int:
    """Return where a child begins, with the blanks before it.

    The end of the line of a comment before it stays if other text would follow on that line.
    """
    text = document.text
    start = len(text[: child.begin].rstrip(_BLANK))
    if start in document.line_comments and not re.match(r"[ \t]*\r?\n", behind):
        line_end = _LINE_END.match(text, start)
        return start + 1 if line_end is None else line_end.end()
    return start


class _Layout:
    """How children of a list or object are laid out: one per line (`spread`), or in one line."""

    def __init__(self, document: Document, container: Node) -> None:
        text, children = document.text, container.children
        found, ended = _INDENT.search(text), _LINE_END.search(text)
        self.unit = found[1] if found else _DEFAULT_INDENT
        self.line_end = ended[0] if ended else "\n"
        self.around = _indent(text, container.begin)
        self.inner = self.around + self.unit
        self.spread = _is_spread(text, container if children else document.root)
        if children and self.spread:
            self.inner = _indent(text, children[-1].begin)

    @property
    def lead(self) -> str:
        return self.line_end + self.inner

    def laid_out(self, value: JSON, key: str) -> str:
        name = f"{json.dumps(key, ensure_ascii=False)}: " if key else ""
        if not self.spread:
            return name + json.dumps(value, ensure_ascii=False)
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit).split("\n")
        return name + self.lead.join(lines)


def _is_spread(text: str, node: Node) -> bool:
    return not node.children or "\n" in text[node.start : node.children[0].begin]


def _indent(text: str, at: int) -> str:
    """Return the blanks at the start of the line of a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
