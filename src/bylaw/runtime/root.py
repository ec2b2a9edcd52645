"""Find the root of a folder, and read its settings.

The root is the nearest parent with `bylaw.toml` or with `[tool.bylaw]` in `pyproject.toml`, else
the git work tree. An unknown key in the settings is an error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.languages.toml import Array, Table, load_toml
from bylaw.model.codes.files import MISSING_SETTING, TWO_CONFIGURATIONS, WRONG_SETTING
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.errors import LoadError, load_error
from bylaw.model.source import SourceFile, Span
from bylaw.runtime.settings import (
    TABLES,
    BookSettings,
    GeneralSettings,
    Problems,
    Settings,
    read_table,
    read_tables,
)
from bylaw.store.files import absolute, read_regular_file
from bylaw.store.paths import path_exists

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.languages.toml import Node

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
    table = settings_node(source, below)
    if not isinstance(table, Table):
        span = Span(0, 0) if table is None else table.span
        help_ = "write `[tool.bylaw]`"
        raise load_error(WRONG_SETTING, "`bylaw` must be a table", source, span, help=help_)
    problems = Problems(source)
    found = _read(source, table, problems)
    problems.raise_if_any()
    return found


def settings_node(source: SourceFile, below: tuple[str, ...]) -> Node | None:
    """Return the value under that name in a TOML text; LoadError if it is not TOML."""
    node: Node | None = load_toml(source)
    for name in below:
        node = node.get(name) if isinstance(node, Table) else None
    return node


def two_configurations_error(project: SourceFile) -> Diagnostic:
    """Return the error for `[tool.bylaw]` next to a `bylaw.toml`."""
    found = settings_node(project, IN_PROJECT)
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


_SETTINGS_TABLE = re.compile(r"^[ \t]*\[+[ \t]*tool[ \t]*\.[ \t]*bylaw\b", re.MULTILINE)


def find_root(folder: str = ".") -> str:
    """Return the nearest parent with settings, else the top of the git work tree, else `folder`."""
    start = absolute(folder)
    above = list(_parents(start))
    configured = next((one for one in above if _is_configured(one)), "")
    return configured or next((one for one in above if _has_git(one)), start)


def work_tree(folder: str) -> str:
    """Return the top of the git work tree of a folder; the folder itself if it is in none."""
    return next((one for one in _parents(folder) if _has_git(one)), folder)


def is_root(folder: str) -> bool:
    """Check whether a folder has settings or is the top of a git work tree."""
    return _has_git(folder) or _is_configured(folder)


def read_configuration(root: str) -> Configuration:
    """Read the settings of a root; LoadError with all their problems."""
    project = _read_project(root)
    if not path_exists(f"{root}/{CONFIGURATION}"):
        return Configuration() if project is None else read_settings(project, IN_PROJECT)
    if project is not None:
        raise LoadError([two_configurations_error(project)])
    return read_settings(read_regular_file(f"{root}/{CONFIGURATION}", CONFIGURATION), ())


def has_settings(folder: str) -> bool:
    """Check whether the `pyproject.toml` of a folder contains settings of Bylaw."""
    return _read_project(folder) is not None


def _parents(folder: str) -> Iterator[str]:
    yield folder
    while folder != "/":
        folder = folder.rpartition("/")[0] or "/"
        yield folder


def _has_git(folder: str) -> bool:
    return path_exists(f"{folder}/.git")


def _is_configured(folder: str) -> bool:
    return path_exists(f"{folder}/{CONFIGURATION}") or _read_project(folder) is not None


def _read_project(folder: str) -> SourceFile | None:
    """Read `pyproject.toml` if it has settings of Bylaw."""
    if not path_exists(f"{folder}/{PROJECT}"):
        return None
    try:
        source = read_regular_file(f"{folder}/{PROJECT}", PROJECT)
    except LoadError:
        return None  # it cannot be read, so assume that it has no settings
    return source if "bylaw" in source.text and _mentions_settings(source) else None


def _mentions_settings(source: SourceFile) -> bool:
    try:
        return settings_node(source, IN_PROJECT) is not None
    except LoadError:
        # Ignore errors in a file of others, unless it seems to contain our table.
        return _SETTINGS_TABLE.search(source.text) is not None
