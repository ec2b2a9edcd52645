"""The languages by name. A built-in language is one line here and a module beside this one.

Others come from installed packages, through the entry points `bylaw.dialects`; they are looked
for only where no built-in language fits. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import sys
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from bylaw.dialects.base import Dialect

ENTRY_POINTS = "bylaw.dialects"

# Name → module, in the order in which books are listed.
BUILT_IN: dict[str, str] = {
    "chatmd": "bylaw.dialects.chatmd",
    "context": "bylaw.dialects.context",
    "law": "bylaw.dialects.law",
    "policies": "bylaw.dialects.file_policies",
    "toml": "bylaw.dialects.toml_rules",
}
# What hosts add of their own: nobody writes it, so it stands in no listing.
OF_HOSTS = {"hooks": "bylaw.dialects.hook_rules"}


def dialect_named(name: str) -> Dialect | None:
    """The language of that name; None if there is none."""
    module = BUILT_IN.get(name) or OF_HOSTS.get(name)
    if module is not None:
        return _built_in(name, module)
    entry = _installed().get(name)
    return None if entry is None else _load(entry)


def dialect_names() -> list[str]:
    """All languages, the built-in ones first."""
    return [*BUILT_IN, *(name for name in sorted(_installed()) if name not in BUILT_IN)]


def book_order(name: str) -> tuple[int, str]:
    """Sorts the names of languages as their books are listed, without looking for others."""
    known = [*BUILT_IN, *OF_HOSTS]
    return known.index(name) if name in known else len(known), name


def dialects_for(path: str) -> list[Dialect]:
    """The languages whose file names end as this one does."""
    return _ending(path, list(BUILT_IN)) or _ending(path, dialect_names()[len(BUILT_IN) :])


def _ending(path: str, names: list[str]) -> list[Dialect]:
    found, broken = [], []
    for name in names:
        try:
            dialect = dialect_named(name)
        except BylawError as wrong:
            broken.append(wrong)  # it may be the language of another file
            continue
        if dialect is not None and path.endswith(dialect.suffixes):
            found.append(dialect)
    if broken and not found:
        raise broken[0]
    return found


def _installed() -> dict[str, EntryPoint]:
    return _entries(tuple(sys.path))


@lru_cache(maxsize=1)
def _entries(path: tuple[str, ...]) -> dict[str, EntryPoint]:  # noqa: ARG001 - where is looked
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, and seldom needed

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


@cache
def _built_in(name: str, module: str) -> Dialect:
    return _checked(name, import_module(module))


@cache
def _load(entry: EntryPoint) -> Dialect:
    try:
        found = entry.load()
    except Exception as wrong:
        # A package of somebody else may raise anything.
        message = f"the language `{entry.name}` cannot be loaded: {wrong}"
        raise BylawError(message) from wrong
    return _checked(entry.name, found)


def _checked(name: str, found: object) -> Dialect:
    from bylaw.dialects.base import Dialect  # noqa: PLC0415 - not needed to list names

    if not isinstance(found, Dialect):
        raise BylawError(f"`{name}` is no language: it lacks a name of bylaw.dialects.base.Dialect")
    if found.name != name:
        raise BylawError(f"the language `{name}` calls itself `{found.name}`")
    return found
