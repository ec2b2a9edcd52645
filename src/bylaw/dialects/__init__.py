"""Find rule languages by name or by the suffix of a file.

A built-in language is one line in `BUILT_IN` and a module of this package. Other languages come
from installed packages, through the entry points `bylaw.dialects`. They are used only if no
built-in language matches. A language is imported when it is first needed.
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
# Languages that hosts add. They have no rule files, so no listing shows them.
OF_HOSTS = {"hooks": "bylaw.dialects.hook_rules"}


def dialect_named(name: str) -> Dialect | None:
    """Return the language with this name; None if the name is unknown."""
    module = BUILT_IN.get(name) or OF_HOSTS.get(name)
    if module is not None:
        return _built_in(name, module)
    entry = _installed().get(name)
    return None if entry is None else _load(entry)


def dialect_names() -> list[str]:
    """Return the names of all languages, built-in ones first."""
    return [*BUILT_IN, *(name for name in sorted(_installed()) if name not in BUILT_IN)]


def book_order(name: str) -> tuple[int, str]:
    """Sort key for the order in which books are listed. Does not search installed packages."""
    known = [*BUILT_IN, *OF_HOSTS]
    return known.index(name) if name in known else len(known), name


def dialects_for(path: str) -> list[Dialect]:
    """Return the languages whose files have the suffix of this path."""
    return _ending(path, list(BUILT_IN)) or _ending(path, dialect_names()[len(BUILT_IN) :])


def _ending(path: str, names: list[str]) -> list[Dialect]:
    found, broken = [], []
    for name in names:
        try:
            dialect = dialect_named(name)
        except BylawError as wrong:
            broken.append(wrong)  # keep the error: this language may not own the file
            continue
        if dialect is not None and path.endswith(dialect.suffixes):
            found.append(dialect)
    if broken and not found:
        raise broken[0]
    return found


def _installed() -> dict[str, EntryPoint]:
    return _entries(tuple(sys.path))


@lru_cache(maxsize=1)
def _entries(path: tuple[str, ...]) -> dict[str, EntryPoint]:  # noqa: ARG001 - cache key
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, rarely needed

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


@cache
def _built_in(name: str, module: str) -> Dialect:
    return _checked(name, import_module(module))


@cache
def _load(entry: EntryPoint) -> Dialect:
    try:
        found = entry.load()
    except Exception as wrong:
        # A third-party package may raise any exception.
        message = f"language `{entry.name}` failed to load: {wrong}"
        raise BylawError(message) from wrong
    return _checked(entry.name, found)


def _checked(name: str, found: object) -> Dialect:
    from bylaw.dialects.base import Dialect  # noqa: PLC0415 - not needed to list names

    if not isinstance(found, Dialect):
        raise BylawError(f"`{name}` is not a language: it must define all names of `Dialect`")
    if found.name != name:
        raise BylawError(f"language `{name}` has a different `name`: `{found.name}`")
    return found
