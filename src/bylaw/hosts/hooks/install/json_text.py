"""Parse JSON, perhaps with comments, into values and their positions, for editing.

Raises JsonError with the place where the client itself could not read the text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from msgspec import Struct, field

from bylaw.model.source import BOM, Span
from bylaw.model.strict_json import Walk

if TYPE_CHECKING:
    from bylaw.model.values import JSON

_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)


Path: TypeAlias = tuple[str | int, ...]


class Form(Struct, frozen=True):
    """What a client accepts in addition to JSON; `mark` is a byte order mark."""

    comments: bool = False
    last_commas: bool = False
    mark: bool = False


STRICT = Form()


class Node(Struct):
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
    children: list[Node] = field(default_factory=list)

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

    def child(self, step: str | int) -> Node | None:
        """Return a member by its key or an element by its index, or None."""
        if isinstance(step, str):
            members = (one for one in self.children if self.is_object and one.key == step)
            return next(members, None)
        return self.children[step] if self.is_list and step < len(self.children) else None


class Document(Struct, frozen=True):
    """A parsed text, its value, and the positions at which its `//` comments end."""

    text: str
    root: Node
    line_comments: frozenset[int]

    def plain(self, node: Node) -> JSON:
        """Return a value as plain data."""
        if node.is_object:
            return {one.key: self.plain(one) for one in node.children}
        if node.is_list:
            return [self.plain(one) for one in node.children]
        value: JSON = json.loads(self.text[node.start : node.end])
        return value

    def at(self, path: Path) -> Node | None:
        """Return the value at a path, or None."""
        node: Node | None = self.root
        for step in path:
            node = None if node is None else node.child(step)
        return node


def read_text(text: str, form: Form = STRICT) -> Document:
    """Parse a text. Raises JsonError if the form does not allow it."""
    reading = _Reading(text, form)
    reading.whole()
    return Document(text, reading.root, frozenset(reading.line_comments))


class _Reading(Walk):
    """Stores every value with its place, and skips comments if they are allowed."""

    def __init__(self, text: str, form: Form) -> None:
        super().__init__(text)
        self.at = len(BOM) if text.startswith(BOM) else 0
        self.form = form
        if self.at and not form.mark:
            self.fail("it begins with a byte order mark", Span(0, self.at))
        self.root = self.coming = Node(self.at)
        self.open: list[Node] = []
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
        self.coming = Node(span.start, key if isinstance(key, str) else "")
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
