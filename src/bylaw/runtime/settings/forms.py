"""The types of values in `bylaw.toml`: flags, numbers, choices, texts, lists of texts."""

from __future__ import annotations

import re
from posixpath import normpath
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.toml import Array
from bylaw.model.codes.configuration import UNBOUNDED_PATTERN
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief, visible

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import StrEnum

    from bylaw.dialects.toml import Node
    from bylaw.runtime.settings.problems import Problems

MAX_ITEMS = 100  # in a list
MAX_CHARS = 1000  # in a text

_BOUND = "add a limit, such as `{1,100}`; only the last part of a pattern may repeat without one"
_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ADDRESS = re.compile(
    r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[1-9][0-9]{0,4})?(?:/[\w./~%-]*)?", re.ASCII
)


class Flag:
    """A value that is true or false."""

    words = "`true` or `false`"

    def read(self, key: str, node: Node, problems: Problems) -> bool:
        """Return the value; other types are not converted."""
        value = node.to_python()
        if not isinstance(value, bool):
            problems.wrong(key, self.words, node.span)
        return value is True


class Whole(Struct, frozen=True):
    """A whole number in a range."""

    least: int
    most: int

    @property
    def words(self) -> str:
        """The range in words."""
        return f"a whole number from {self.least:,} to {self.most:,}"

    def read(self, key: str, node: Node, problems: Problems) -> int:
        """Return the number."""
        value = node.to_python()
        if not isinstance(value, int) or isinstance(value, bool):
            problems.wrong(key, self.words, node.span)
            return self.least
        if not self.least <= value <= self.most:
            problems.unusable(key, "it is out of range", node.span, f"write {self.words}")
        return value


class Choice(Struct, frozen=True):
    """One word of a closed list."""

    choices: type[StrEnum]

    @property
    def words(self) -> str:
        """The allowed words."""
        return " or ".join(f'`"{one}"`' for one in self.choices)

    def read(self, key: str, node: Node, problems: Problems) -> StrEnum:
        """Return the word."""
        value = node.to_python()
        if isinstance(value, str) and value in set(self.choices):
            return self.choices(value)
        if isinstance(value, str):
            help_ = did_you_mean(value, self.choices)
            problems.unusable(key, "unknown choice", node.span, help_)
        else:
            problems.wrong(key, self.words, node.span)
        return next(iter(self.choices))


class Text(Struct, frozen=True):
    """A text of some kind; `understand` returns its normal form, or raises ValueError."""

    words: str
    understand: Callable[[str], str]

    def read(self, key: str, node: Node, problems: Problems) -> str:
        """Return the text in its normal form."""
        value = node.to_python()
        if not isinstance(value, str):
            problems.wrong(key, self.words, node.span)
            return ""
        try:
            return self.understand(_plain(value))
        except ValueError as wrong:
            problems.unusable(key, str(wrong), node.span, f"write {self.words}")
            return ""


class Texts(Struct, frozen=True):
    """A list of texts of one kind."""

    item: Text

    @property
    def words(self) -> str:
        """The kind of the texts in words."""
        return f"a list, each {self.item.words}"

    def read(self, key: str, node: Node, problems: Problems) -> tuple[str, ...]:
        """Return the texts; each mistake is added to `problems`."""
        items = _items_of(key, node, problems, self.words)
        return tuple(self.item.read(key, one, problems) for one in items)


class Patterns:
    """A list of regular expressions with limited running time."""

    words = "a list of regular expressions"

    def read(self, key: str, node: Node, problems: Problems) -> tuple[re.Pattern[str], ...]:
        """Return the compiled patterns; each mistake is added to `problems`."""
        items = _items_of(key, node, problems, self.words)
        read = [self._item(key, one, problems) for one in items]
        return tuple(one for one in read if one is not None)

    def _item(self, key: str, node: Node, problems: Problems) -> re.Pattern[str] | None:
        from bylaw.runtime.settings.patterns import UnboundedError, bounded  # noqa: PLC0415 - few files have patterns

        text = node.to_python()
        if not isinstance(text, str):
            problems.wrong(key, "a text in quotes", node.span)
            return None
        try:
            return bounded(text)
        except UnboundedError as wrong:
            problems.refuse(UNBOUNDED_PATTERN, f"this pattern {wrong}", node.span, _BOUND)
        except ValueError as wrong:
            problems.unusable(key, str(wrong), node.span, "write another regular expression")
        return None


def _items_of(key: str, node: Node, problems: Problems, words: str) -> tuple[Node, ...]:
    """Return the items of a list, unless it is too long."""
    if not isinstance(node, Array):
        problems.wrong(key, words, node.span)
        return ()
    if len(node.items) > MAX_ITEMS:
        why = f"it has more than {MAX_ITEMS} items"
        problems.unusable(key, why, node.span, "combine some of them")
        return ()
    return node.items


def _plain(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    if len(text) > MAX_CHARS:
        raise ValueError(f"it is longer than {MAX_CHARS:,} characters")
    if visible(text) != text:
        raise ValueError("it contains an invisible character")
    return text


def _path(text: str) -> str:
    if text.startswith(("/", "~")):
        raise ValueError(f"`{brief(text)}` is not relative to the root")
    if ".." in text.split("/"):
        raise ValueError(f"`{brief(text)}` may lead out of the root")
    return normpath(text)


def _file(text: str) -> str:
    path = _path(text)
    if path == "." or text.endswith("/"):
        raise ValueError(f"`{brief(text)}` is a folder")
    return path


def _program(text: str) -> str:
    if not _PROGRAM.fullmatch(text):
        raise ValueError(f"`{brief(text)}` is not the name of a program")
    return text


def _variable(text: str) -> str:
    if not _VARIABLE.fullmatch(text):
        raise ValueError(f"`{brief(text)}` is not the name of a variable")
    return text


def _address(text: str) -> str:
    if "@" in text:  # do not quote the text: it may contain a password
        raise ValueError("this file must not contain a user name or a password")
    if not _ADDRESS.fullmatch(text):
        raise ValueError(f"`{brief(text)}` is not a valid address")
    return text


def _any(text: str) -> str:
    return text


PATH = Text("a path relative to the root, without `..`", _path)
FILE = Text("the path of a file relative to the root, without `..`", _file)
PROGRAM = Text("the name of a program, without a folder", _program)
VARIABLE = Text("the name of an environment variable", _variable)
ADDRESS = Text("an address such as `https://example.org/v1`", _address)
NAME = Text("a text in quotes that is not empty", _any)
