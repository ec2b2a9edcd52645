"""`bylaw.toml`, or `[tool.bylaw]` in `pyproject.toml` → settings, or what is wrong with them.

The vocabulary is closed: an unknown key is an error. Tables that another part of Bylaw reads
are known here by name only.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bylaw.model.codes.configuration import (
    CONFIGURATION_SYNTAX,
    MISSING_SETTING,
    TWO_CONFIGURATIONS,
    UNKNOWN_SETTING,
    WRONG_SETTING,
)
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.errors import LoadError
from bylaw.model.source import BOM, SourceFile, Span
from bylaw.model.suggest import did_you_mean
from bylaw.runtime.reading import too_large
from bylaw.runtime.toml_places import Places, Table, error_place, find_places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.codes import Code

CONFIGURATION = "bylaw.toml"
PROJECT = "pyproject.toml"
IN_PROJECT = ("tool", "bylaw")
# Far more than anyone writes. The standard reader needs time that grows with the square of the
# parts of a dotted key.
MAX_CONFIGURATION = 256 * 1024
MAX_DOTS_A_LINE = 1_000

_KEYS = ("discover", "book")
_BOOK_KEYS = ("path", "dialect")
# Each is read, and closed, by the part that it is about.
OTHER_TABLES = ("journal", "command", "law", "stop", "hooks", "protect", "model")


@dataclass(frozen=True, slots=True)
class NamedBook:
    """One `[[book]]`: a path from the root, and its language if it is not to be inferred."""

    path: str
    dialect: str
    path_span: Span
    dialect_span: Span


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings in force; without a file, the defaults."""

    source: SourceFile = field(default_factory=lambda: SourceFile(CONFIGURATION, ""))
    discover: bool = True
    books: tuple[NamedBook, ...] = ()


def read_settings(source: SourceFile, below: tuple[str, ...]) -> Configuration:
    """The settings in the table `below`; LoadError with everything that is wrong with them."""
    data: Any = parse(source)
    for name in below:
        data = data[name]
    reader = _Reader(find_places(source), below)
    found = reader.read(data)
    if reader.findings:
        raise LoadError(reader.findings)
    return found


def parse(source: SourceFile) -> dict[str, Any]:
    """The plain values of a TOML text of bounded size, or LoadError."""
    if len(source.text) > MAX_CONFIGURATION:
        headline = f"`{source.path}` is larger than {MAX_CONFIGURATION:,} characters"
        raise LoadError([too_large(source.path, headline)])
    try:
        if any(line.count(".") > MAX_DOTS_A_LINE for line in source.text.split("\n")):
            raise RecursionError  # noqa: TRY301 - what a dotted key would become
        return tomllib.loads(source.text.removeprefix(BOM))
    except RecursionError:
        said, span = "this is nested too deeply", Span(0, 0)
    except ValueError as wrong:
        said, span = error_place(source, str(wrong))
    help_ = "write TOML: `key = value` below `[table]`; texts stand in quotes"
    raise LoadError([error(CONFIGURATION_SYNTAX, said, source, span, help=help_)])


def two_configurations(project: SourceFile) -> Diagnostic:
    """The refusal of `[tool.bylaw]` beside a `bylaw.toml`."""
    found = find_places(project).below(IN_PROJECT) or Span(0, 0)
    headline = f"`{CONFIGURATION}` stands beside this table, and only one can be in force"
    help_ = "keep one of them, with all settings"
    return error(TWO_CONFIGURATIONS, headline, project, found, help=help_)


class _Reader:
    """Checks plain values and collects what is wrong with them."""

    def __init__(self, places: Places, below: tuple[str, ...]) -> None:
        self.findings: list[Diagnostic] = []
        self._places = places
        self._below = below
        self._top = places.table(below)

    def read(self, data: object) -> Configuration:
        if not isinstance(data, dict):
            self._refuse(WRONG_SETTING, "`bylaw` must be a table", self._span((), ""))
            return Configuration()
        for key, value in data.items():
            self._check_key(key, value)
        return Configuration(
            self._places.source,
            data.get("discover", True) is True,
            tuple(self._books(data.get("book", []))),
        )

    def _check_key(self, key: str, value: object) -> None:
        known = (*_KEYS, *OTHER_TABLES)
        span = self._span((key,), key)
        if key not in known:
            help_ = did_you_mean(key, known)
            self._refuse(UNKNOWN_SETTING, f"`{key}` is not a setting", span, help_)
        elif key in OTHER_TABLES and not isinstance(value, dict):
            self._wrong(key, f"a table: `[{key}]`", span)
        elif key == "discover" and not isinstance(value, bool):
            self._wrong(key, "`true` or `false`", self._value_span(self._top, key))

    def _books(self, value: object) -> Iterator[NamedBook]:
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            self._wrong("book", "a list of tables: `[[book]]`", self._span(("book",), "book"))
            return
        for number, one in enumerate(value):
            yield from self._book(one, self._places.table((*self._below, "book"), number))

    def _book(self, value: dict[str, object], table: Table | None) -> Iterator[NamedBook]:
        before = len(self.findings)
        for key, one in value.items():
            self._check_book_key(key, one, table)
        if "path" not in value:
            span = table.span if table else self._span(("book",), "book")
            help_ = 'add `path = "…"`, a file or folder from the root'
            self._refuse(MISSING_SETTING, "this book has no `path`", span, help_)
        if len(self.findings) == before:
            path, dialect = str(value["path"]), str(value.get("dialect", ""))
            spans = (self._value_span(table, "path"), self._value_span(table, "dialect"))
            yield NamedBook(path, dialect, *spans)

    def _check_book_key(self, key: str, value: object, table: Table | None) -> None:
        if key not in _BOOK_KEYS:
            span = (
                table.keys[key][0] if table and key in table.keys else self._span(("book",), "book")
            )
            help_ = did_you_mean(key, _BOOK_KEYS)
            self._refuse(UNKNOWN_SETTING, f"`{key}` is not a setting of a book", span, help_)
        elif not isinstance(value, str) or not value:
            self._wrong(key, "a text in quotes that is not empty", self._value_span(table, key))

    def _span(self, name: tuple[str, ...], key: str) -> Span:
        """Where a key stands: in its table, else the first header below its name, else the top."""
        if self._top and key in self._top.keys:
            return self._top.keys[key][0]
        return (
            self._places.below((*self._below, *name))
            or self._places.below(self._below)
            or Span(0, 0)
        )

    def _value_span(self, table: Table | None, key: str) -> Span:
        if table and key in table.keys:
            return table.keys[key][1]
        return table.span if table and table.name else self._span((key,), key)

    def _wrong(self, key: str, wanted: str, span: Span) -> None:
        self._refuse(
            WRONG_SETTING, f"`{key}` has a value of the wrong type", span, f"write {wanted}"
        )

    def _refuse(self, code: Code, headline: str, span: Span, help_: str = "") -> None:
        self.findings.append(error(code, headline, self._places.source, span, help=help_))
