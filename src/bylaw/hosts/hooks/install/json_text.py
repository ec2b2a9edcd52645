"""A text of JSON, perhaps with comments → its values and where they stand, to be edited.

Nothing is written here. What a client itself would not read is a JsonError with the place.
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
    """What a client takes beside JSON; `mark` is the byte order mark of a text."""

    comments: bool = False
    last_commas: bool = False
    mark: bool = False


STRICT = Form()


class Node(Struct):
    """A value from `start` to `end`; as a member it begins at its key.

    `comma` is the place of the `,` behind it, -1 if there is none.
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
        """Whether it has members."""
        return self.mark == "{"

    @property
    def is_list(self) -> bool:
        """Whether it has elements."""
        return self.mark == "["

    @property
    def span(self) -> Span:
        """The value itself."""
        return Span(self.start, self.end)

    def child(self, step: str | int) -> Node | None:
        """The member or element; None also if this has none of that kind."""
        if isinstance(step, str):
            members = (one for one in self.children if self.is_object and one.key == step)
            return next(members, None)
        return self.children[step] if self.is_list and step < len(self.children) else None


class Document(Struct, frozen=True):
    """A text that was read, its value, and where comments end that go to the end of a line."""

    text: str
    root: Node
    line_comments: frozenset[int]

    def plain(self, node: Node) -> JSON:
        """A value without its form."""
        if node.is_object:
            return {one.key: self.plain(one) for one in node.children}
        if node.is_list:
            return [self.plain(one) for one in node.children]
        value: JSON = json.loads(self.text[node.start : node.end])
        return value

    def at(self, path: Path) -> Node | None:
        """What these steps lead to."""
        node: Node | None = self.root
        for step in path:
            node = None if node is None else node.child(step)
        return node


def read_text(text: str, form: Form = STRICT) -> Document:
    """The values of a text and their places; JsonError if it is not what the form allows."""
    reading = _Reading(text, form)
    reading.whole()
    return Document(text, reading.root, frozenset(reading.line_comments))


class _Reading(Walk):
    """Remembers every value with its place, and takes comments where they are allowed."""

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
            why = "has no end" if self.form.comments else "is not taken here"
            self.fail(f"a comment {why}", Span(self.at, self.at + 2))
        self.fail("this is no value of JSON", Span(self.at, self.at + 1))
