"""Edit JSON text, perhaps with comments: insert a value or remove it, and leave all else unchanged.

Inserting a value and then removing it restores the text. Indentation and line ends follow the text
around. Raises JsonError with the place where the client itself could not read the text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from msgspec import Struct, field

from bylaw.model.source import BOM, Span
from bylaw.model.values import JsonWalker

if TYPE_CHECKING:
    from bylaw.model.values import JSON

_BLANK = " \t\r\n"
_INDENT = re.compile(r"\n([ \t]+)\S")
_LINE_END = re.compile(r"\r?\n")
# Comments after a value on its line.
_REMARKS = re.compile(r"(?:[ \t]*(?:/\*[^\r\n]*?\*/|//[^\r\n]*))*")
_DEFAULT_INDENT = "  "


def insert_value(document: JsonDocument, container: JsonNode, value: JSON, key: str = "") -> str:
    """Return the text with one more element or member at the end of a list or object."""
    layout = _Layout(document, container)
    item = layout.format(value, key)
    if not container.children:
        return _insert_first(document, container, layout, item)
    text, last = document.text, container.children[-1]
    behind = last.end if last.comma < 0 else last.comma + 1
    remarks = _REMARKS.match(text, behind)
    assert remarks is not None, "the pattern also matches an empty text"
    at = remarks.end()
    between = layout.lead if layout.spread or at in document.line_comments else " "
    if last.comma < 0:
        return f"{text[:behind]},{text[behind:at]}{between}{item}{text[at:]}"
    return f"{text[:at]}{between}{item},{text[at:]}"


def _insert_first(document: JsonDocument, container: JsonNode, layout: _Layout, item: str) -> str:
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


def remove_value(document: JsonDocument, container: JsonNode, index: int, empty: str = "") -> str:
    """Return the text without a child; `empty` is left between brackets that become empty."""
    text, child = document.text, container.children[index]
    behind = _text_after(text, child)
    start = _removal_start(document, child, behind)
    if child.comma >= 0:
        is_first = index == 0 and start == child.begin
        return text[:start] + (behind.lstrip(" \t") if is_first else behind)
    if index:
        comma = container.children[index - 1].comma
        return f"{text[:comma]}{text[comma + 1 : start]}{behind}"
    first, last = container.start + 1, container.end - 1
    inside = text[first:start] + text[child.end : last]
    return f"{text[:first]}{inside if inside.strip(_BLANK) else empty}{text[last:]}"


def _text_after(text: str, child: JsonNode) -> str:
    """Return the text after a child, without its comma. Comments before the comma stay."""
    if child.comma < 0:
        return text[child.end :]
    remarks = text[child.end : child.comma]
    return (remarks if remarks.strip(_BLANK) else "") + text[child.comma + 1 :]


def _removal_start(document: JsonDocument, child: JsonNode, behind: str) -> int:
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

    def __init__(self, document: JsonDocument, container: JsonNode) -> None:
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

    def format(self, value: JSON, key: str) -> str:
        name = f"{json.dumps(key, ensure_ascii=False)}: " if key else ""
        if not self.spread:
            return name + json.dumps(value, ensure_ascii=False)
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit).split("\n")
        return name + self.lead.join(lines)


def _is_spread(text: str, node: JsonNode) -> bool:
    return not node.children or "\n" in text[node.start : node.children[0].begin]


def _indent(text: str, at: int) -> str:
    """Return the blanks at the start of the line of a position."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)


JsonPath: TypeAlias = tuple[str | int, ...]


class JsonDialect(Struct, frozen=True):
    """What a client accepts in addition to JSON; `mark` is a byte order mark."""

    comments: bool = False
    last_commas: bool = False
    mark: bool = False


STRICT = JsonDialect()


class JsonNode(Struct):
    """A value from `start` to `end`.

    `begin` is its start, or that of its key if it is a member. `comma` is the position of the `,`
    after it, -1 without one. `mark` is its first character.
    """

    begin: int
    key: str = ""
    start: int = 0
    end: int = 0
    comma: int = -1
    mark: str = ""
    children: list[JsonNode] = field(default_factory=list)

    @property
    def is_object(self) -> bool:
        """Whether it is an object."""
        return self.mark == "{"

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return self.mark == "["

    @property
    def span(self) -> Span:
        """The place of the value, without its key."""
        return Span(self.start, self.end)

    def child(self, step: str | int) -> JsonNode | None:
        """Return a member by its key or an element by its index, or None."""
        if isinstance(step, str):
            members = (one for one in self.children if self.is_object and one.key == step)
            return next(members, None)
        return self.children[step] if self.is_list and step < len(self.children) else None


class JsonDocument(Struct, frozen=True):
    """A parsed text, its value, and the positions at which its `//` comments end."""

    text: str
    root: JsonNode
    line_comments: frozenset[int]

    def plain(self, node: JsonNode) -> JSON:
        """Return a value as plain data."""
        if node.is_object:
            return {one.key: self.plain(one) for one in node.children}
        if node.is_list:
            return [self.plain(one) for one in node.children]
        value: JSON = json.loads(self.text[node.start : node.end])
        return value

    def at(self, path: JsonPath) -> JsonNode | None:
        """Return the value at a path, or None."""
        node: JsonNode | None = self.root
        for step in path:
            node = None if node is None else node.child(step)
        return node


def read_text(text: str, form: JsonDialect = STRICT) -> JsonDocument:
    """Parse a text. Raises JsonError if the form does not allow it."""
    reading = _JsonReader(text, form)
    reading.whole()
    return JsonDocument(text, reading.root, frozenset(reading.line_comments))


class _JsonReader(JsonWalker):
    """Stores every value with its place, and skips comments if they are allowed."""

    def __init__(self, text: str, form: JsonDialect) -> None:
        super().__init__(text)
        self.at = len(BOM) if text.startswith(BOM) else 0
        self.form = form
        if self.at and not form.mark:
            self.fail("it begins with a byte order mark", Span(0, self.at))
        self.root = self.coming = JsonNode(self.at)
        self.open: list[JsonNode] = []
        self.line_comments: list[int] = []

    def value(self) -> None:
        node = self.coming
        node.mark = self.peek()
        node.start = self.at
        self.open.append(node)
        super().value()
        self.open.pop()
        node.end = self.at

    def step(self, key: str | int, span: Span) -> None:
        self.coming = JsonNode(span.start, key if isinstance(key, str) else "")
        self.open[-1].children.append(self.coming)
        super().step(key, span)

    def goes_on(self, closing: str) -> bool:
        if self.peek() == ",":
            self.open[-1].children[-1].comma = self.at
        more = super().goes_on(closing)
        return more and not (self.form.last_commas and self.peek() == closing)

    def peek(self) -> str:
        found = super().peek()
        while found == "/":
            comment = _COMMENT.match(self.text, self.at)
            if comment is None or not self.form.comments:
                self.refuse_comment()
            self.at = comment.end()
            if comment[0].startswith("//"):
                self.line_comments.append(self.at)
            found = super().peek()
        return found

    def refuse_comment(self) -> NoReturn:
        if self.text[self.at + 1 : self.at + 2] in {"/", "*"}:
            why = "is never closed" if self.form.comments else "is not allowed here"
            self.fail(f"a comment {why}", Span(self.at, self.at + 2))
        self.fail("this is not a JSON value", Span(self.at, self.at + 1))
