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

    from bylaw.languages.base import Language

ENTRY_POINTS = "bylaw.dialects"

# Name → module, in the order in which books are listed.
BUILT_IN: dict[str, str] = {
    "chatmd": "bylaw.languages.chatmd",
    "context": "bylaw.languages.context",
    "law": "bylaw.languages.law",
    "policies": "bylaw.languages.file_policies",
    "toml": "bylaw.languages.toml_rules",
}
# Languages that hosts add. They have no rule files, so no listing shows them.
HOST_LANGUAGES = {"hooks": "bylaw.languages.hook_rules"}


def find_language(name: str) -> Language | None:
    """Return the language with this name; None if the name is unknown."""
    module = BUILT_IN.get(name) or HOST_LANGUAGES.get(name)
    if module is not None:
        return _import_built_in(name, module)
    entry = _installed_entries().get(name)
    return None if entry is None else _load_entry(entry)


def language_names() -> list[str]:
    """Return the names of all languages, built-in ones first."""
    return [*BUILT_IN, *(name for name in sorted(_installed_entries()) if name not in BUILT_IN)]


def book_order(name: str) -> tuple[int, str]:
    """Sort key for the order in which books are listed. Does not search installed packages."""
    known = [*BUILT_IN, *HOST_LANGUAGES]
    return known.index(name) if name in known else len(known), name


def languages_for(path: str) -> list[Language]:
    """Return the languages whose files have the suffix of this path."""
    return _match_suffix(path, list(BUILT_IN)) or _match_suffix(
        path, language_names()[len(BUILT_IN) :]
    )


def _match_suffix(path: str, names: list[str]) -> list[Language]:
    found, broken = [], []
    for name in names:
        try:
            dialect = find_language(name)
        except BylawError as wrong:
            broken.append(wrong)  # keep the error: this language may not own the file
            continue
        if dialect is not None and path.endswith(dialect.suffixes):
            found.append(dialect)
    if broken and not found:
        raise broken[0]
    return found


def _installed_entries() -> dict[str, EntryPoint]:
    return _read_entries(tuple(sys.path))


@lru_cache(maxsize=1)
def _read_entries(path: tuple[str, ...]) -> dict[str, EntryPoint]:  # noqa: ARG001 - cache key
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow, rarely needed

    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


@cache
def _import_built_in(name: str, module: str) -> Language:
    return _check_language(name, import_module(module))


@cache
def _load_entry(entry: EntryPoint) -> Language:
    try:
        found = entry.load()
    except Exception as wrong:
        # A third-party package may raise any exception.
        message = f"language `{entry.name}` failed to load: {wrong}"
        raise BylawError(message) from wrong
    return _check_language(entry.name, found)


def _check_language(name: str, found: object) -> Language:
    from bylaw.languages.base import Language  # noqa: PLC0415 - not needed to list names

    if not isinstance(found, Language):
        raise BylawError(f"`{name}` is not a language: it must define all names of `Dialect`")
    if found.name != name:
        raise BylawError(f"language `{name}` has a different `name`: `{found.name}`")
    return found
