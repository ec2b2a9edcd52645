"""`bylaw.toml`, or `[tool.bylaw]` in `pyproject.toml` → settings, or what is wrong with them.

The vocabulary is closed: an unknown key is an error. Tables that another part of Bylaw reads
are known here by name only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bylaw.dialects.toml import Array, Table, load_toml
from bylaw.model.codes.configuration import (
    MISSING_SETTING,
    TWO_CONFIGURATIONS,
    UNKNOWN_SETTING,
    WRONG_SETTING,
)
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.errors import LoadError, load_error
from bylaw.model.source import SourceFile, Span
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.dialects.toml import Entry, Node
    from bylaw.model.codes import Code

CONFIGURATION = "bylaw.toml"
PROJECT = "pyproject.toml"
IN_PROJECT = ("tool", "bylaw")

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
    table = settings_in(source, below)
    if not isinstance(table, Table):
        span = Span(0, 0) if table is None else table.span
        help_ = "write `[tool.bylaw]`"
        raise load_error(WRONG_SETTING, "`bylaw` must be a table", source, span, help=help_)
    reader = _Reader(source)
    found = reader.read(table)
    if reader.findings:
        raise LoadError(reader.findings)
    return found


def settings_in(source: SourceFile, below: tuple[str, ...]) -> Node | None:
    """What stands in a TOML text under that name; LoadError if it is no TOML."""
    node: Node | None = load_toml(source)
    for name in below:
        node = node.get(name) if isinstance(node, Table) else None
    return node


def two_configurations(project: SourceFile) -> Diagnostic:
    """The refusal of `[tool.bylaw]` beside a `bylaw.toml`."""
    found = settings_in(project, IN_PROJECT)
    headline = f"`{CONFIGURATION}` stands beside this table, and only one can be in force"
    help_ = "keep one of them, with all settings"
    span = Span(0, 0) if found is None else found.span
    return error(TWO_CONFIGURATIONS, headline, project, span, help=help_)


class _Reader:
    """Checks the values and collects what is wrong with them."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.findings: list[Diagnostic] = []

    def read(self, table: Table) -> Configuration:
        for key, entry in table.entries.items():
            self._check_key(key, entry)
        discover, books = table.get("discover"), table.get("book")
        return Configuration(
            self.source,
            discover is None or discover.to_python() is True,
            () if books is None else tuple(self._books(books)),
        )

    def _check_key(self, key: str, entry: Entry) -> None:
        known = (*_KEYS, *OTHER_TABLES)
        if key not in known:
            help_ = did_you_mean(key, known)
            self._refuse(UNKNOWN_SETTING, f"`{key}` is not a setting", entry.key, help_)
        elif key in OTHER_TABLES and not isinstance(entry.node, Table):
            self._wrong(key, f"a table: `[{key}]`", entry.node.span)
        elif key == "discover" and not isinstance(entry.node.to_python(), bool):
            self._wrong(key, "`true` or `false`", entry.node.span)

    def _books(self, node: Node) -> Iterator[NamedBook]:
        if not isinstance(node, Array) or not all(isinstance(one, Table) for one in node.items):
            self._wrong("book", "a list of tables: `[[book]]`", node.span)
            return
        for one in node.items:
            assert isinstance(one, Table)
            yield from self._book(one)

    def _book(self, table: Table) -> Iterator[NamedBook]:
        before = len(self.findings)
        for key, entry in table.entries.items():
            self._check_book_key(key, entry)
        if "path" not in table.entries:
            help_ = 'add `path = "…"`, a file or folder from the root'
            self._refuse(MISSING_SETTING, "this book has no `path`", table.span, help_)
        if len(self.findings) == before:
            path, dialect = table.entries["path"].node, table.get("dialect")
            name = "" if dialect is None else str(dialect.to_python())
            span = path.span if dialect is None else dialect.span
            yield NamedBook(str(path.to_python()), name, path.span, span)

    def _check_book_key(self, key: str, entry: Entry) -> None:
        value = entry.node.to_python()
        if key not in _BOOK_KEYS:
            help_ = did_you_mean(key, _BOOK_KEYS)
            self._refuse(UNKNOWN_SETTING, f"`{key}` is not a setting of a book", entry.key, help_)
        elif not isinstance(value, str) or not value:
            self._wrong(key, "a text in quotes that is not empty", entry.node.span)

    def _wrong(self, key: str, wanted: str, span: Span) -> None:
        headline = f"`{key}` has a value of the wrong type"
        self._refuse(WRONG_SETTING, headline, span, f"write {wanted}")

    def _refuse(self, code: Code, headline: str, span: Span, help_: str = "") -> None:
        self.findings.append(error(code, headline, self.source, span, help=help_))
