"""Read settings from `bylaw.toml`, or from `[tool.bylaw]` in `pyproject.toml`.

An unknown key is an error. The tables are defined in `settings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.toml import Array, Table, load_toml
from bylaw.model.codes.configuration import MISSING_SETTING, TWO_CONFIGURATIONS, WRONG_SETTING
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.errors import load_error
from bylaw.model.source import SourceFile, Span
from bylaw.runtime.settings import TABLES, Settings
from bylaw.runtime.settings.problems import Problems
from bylaw.runtime.settings.reader import read_table, read_tables
from bylaw.runtime.settings.tables import BookSettings, GeneralSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.dialects.toml import Node

CONFIGURATION = "bylaw.toml"
PROJECT = "pyproject.toml"
IN_PROJECT = ("tool", "bylaw")
BOOK = "book"


class NamedBook(Struct, frozen=True):
    """One `[[book]]`: a path from the root, and its language if that is given."""

    path: str
    dialect: str
    path_span: Span
    dialect_span: Span


class Configuration(Struct, frozen=True):
    """The settings of a root; the defaults if there is no file."""

    source: SourceFile = SourceFile(CONFIGURATION, "")
    discover: bool = True
    books: tuple[NamedBook, ...] = ()
    settings: Settings = Settings()


def read_settings(source: SourceFile, below: tuple[str, ...]) -> Configuration:
    """Read the settings in the table `below`; LoadError with all their problems."""
    table = settings_in(source, below)
    if not isinstance(table, Table):
        span = Span(0, 0) if table is None else table.span
        help_ = "write `[tool.bylaw]`"
        raise load_error(WRONG_SETTING, "`bylaw` must be a table", source, span, help=help_)
    problems = Problems(source)
    found = _read(source, table, problems)
    problems.raise_if_any()
    return found


def settings_in(source: SourceFile, below: tuple[str, ...]) -> Node | None:
    """Return the value under that name in a TOML text; LoadError if it is not TOML."""
    node: Node | None = load_toml(source)
    for name in below:
        node = node.get(name) if isinstance(node, Table) else None
    return node


def two_configurations(project: SourceFile) -> Diagnostic:
    """Return the error for `[tool.bylaw]` next to a `bylaw.toml`."""
    found = settings_in(project, IN_PROJECT)
    headline = f"`{CONFIGURATION}` exists as well, and only one of the two can be used"
    help_ = "move all settings into one of them"
    span = Span(0, 0) if found is None else found.span
    return error(TWO_CONFIGURATIONS, headline, project, span, help=help_)


def _read(source: SourceFile, table: Table, problems: Problems) -> Configuration:
    general = {key.name for key in GeneralSettings.keys}
    known = (*general, BOOK, *TABLES)
    for name, entry in table.entries.items():
        if name not in known:
            problems.unknown(name, "", entry.key, known)
    own = {name: entry for name, entry in table.entries.items() if name in general}
    books = table.get(BOOK)
    return Configuration(
        source,
        read_table(GeneralSettings, own, problems).discover,
        () if books is None else tuple(_books(books, problems)),
        read_tables(table.entries, problems),
    )


def _books(node: Node, problems: Problems) -> Iterator[NamedBook]:
    if not isinstance(node, Array) or not all(isinstance(one, Table) for one in node.items):
        problems.wrong(BOOK, "a list of tables: `[[book]]`", node.span)
        return
    for one in node.items:
        assert isinstance(one, Table)
        yield _book(one, problems)


def _book(table: Table, problems: Problems) -> NamedBook:
    read = read_table(BookSettings, table.entries, problems, "a book")
    path, dialect = table.get("path"), table.get("dialect")
    if path is None:
        help_ = 'add `path = "…"`, a file or folder below the root'
        problems.refuse(MISSING_SETTING, "this book has no `path`", table.span, help_)
    path_span = table.span if path is None else path.span
    return NamedBook(
        read.path, read.dialect, path_span, path_span if dialect is None else dialect.span
    )
