"""Read tables of `bylaw.toml` into settings, and collect all mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from bylaw.dialects.toml import Table
from bylaw.runtime.settings import TABLES, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.dialects.toml import Entry
    from bylaw.runtime.settings.key import Table as SettingsTable
    from bylaw.runtime.settings.problems import Problems

    T = TypeVar("T", bound=SettingsTable)


def read_tables(entries: Mapping[str, Entry], problems: Problems) -> Settings:
    """Read all tables; a missing table has its defaults."""
    found: dict[str, Any] = {}
    for name, kind in TABLES.items():
        node = entries[name].node if name in entries else None
        if isinstance(node, Table):
            found[name] = read_table(kind, node.entries, problems, f"`[{name}]`")
        elif node is not None:
            problems.wrong(name, f"a table: `[{name}]`", node.span)
    return Settings(**found)


def read_table(
    kind: type[T], entries: Mapping[str, Entry], problems: Problems, where: str = ""
) -> T:
    """Read one table; `where` names it in error messages."""
    keys = {key.name: key for key in kind.keys}
    values: dict[str, Any] = {}
    for name, entry in entries.items():
        if name in keys:
            values[name] = keys[name].form.read(name, entry.node, problems)
        else:
            problems.unknown(name, where, entry.key, keys)
    return kind(**values)
