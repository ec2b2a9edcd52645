"""Find rule files: those of a root by its settings and the convention, or those a person passed.

Reads only folders, and the setting with the folder of the policies. A problem during the search
has no stand-in, so it refuses the complete set of rules.
"""

from __future__ import annotations

import os
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bylaw.dialects import BUILT_IN, dialect_named, dialects_for
from bylaw.model.codes.books import NO_RULE_FILES, OUTSIDE_ROOT, UNKNOWN_DIALECT
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import visible
from bylaw.runtime.configuration import CONFIGURATION, PROJECT
from bylaw.runtime.paths import as_bytes, as_text, is_folder, name_from
from bylaw.runtime.policy_settings import POLICIES_DIR, legacy_warning, read_policy_settings
from bylaw.runtime.reading import unreadable
from bylaw.runtime.root import absolute, is_root

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.runtime.configuration import Configuration, NamedBook
    from bylaw.runtime.policy_settings import PolicySettings


class Place(NamedTuple):
    """A folder below the root, the pattern of its file names, and their language.

    With `own_session`, each file is active only in its own session.
    """

    folder: str
    names: str
    dialect: str
    own_session: bool = False

    @property
    def pattern(self) -> str:
        """Folder and file names as one pattern."""
        return f"{self.folder}/{self.names}" if self.folder else self.names


POLICIES = "policies"
_LOCK = b".#"
CONVENTION = (
    Place(POLICIES_DIR, "*.md", POLICIES),
    Place("rules", "*.toml", "toml"),
    Place(".bylaw/rules", "*.toml", "toml"),
    Place("backend/src/services/plugins/rules", "*.toml", "toml"),
    Place("runtime/rules", "*.yaml", "law"),
    Place("", "*.chatmd", "chatmd", own_session=True),
    Place("prompts", "*.chatmd", "chatmd", own_session=True),
    Place(".bylaw/context", "*.md", "context"),
)


class Why(StrEnum):
    """How a file was found."""

    GIVEN = "given"
    NAMED = "named"
    FOLDER = "folder"
    CONVENTION = "convention"


class Found(Struct, frozen=True):
    """A rule file: its path from the root, its location, and its language if that is known.

    `by` is the argument, setting, folder or pattern that led to it. `within` is the folder that no
    link may leave; empty for a file that a person passed. A file with `own_session`, such as a
    chat that no setting lists, is active only in its own session.
    """

    path: str
    location: str
    dialect: str
    why: Why
    by: str
    within: str
    own_session: bool = False


class Search(Struct, frozen=True):
    """The result of a search: rule files in the order of their paths, and problems.

    `given` are the paths that a person passed, relative to `folder`; None for the books of the
    root. `places` are the places of the convention that were searched. `findings` are reported and
    refuse nothing. Files in a language that is `off` are ignored.
    """

    root: str
    found: tuple[Found, ...]
    refusals: tuple[Diagnostic, ...] = ()
    places: tuple[Place, ...] = ()
    given: tuple[str, ...] | None = None
    folder: str = ""
    findings: tuple[Diagnostic, ...] = ()
    off: tuple[str, ...] = ()


def discover(root: str, settings: Configuration) -> Search:
    """Find the books that the settings list, and those of the convention unless it is off."""
    search = _Searching(root)
    policies = read_policy_settings(root)
    for book in settings.books:
        search.take_named(book, settings.source)
    if settings.discover:
        search.take_convention(_places(policies))
    legacy = legacy_warning(root) if policies.enabled and settings.discover else []
    findings = (*policies.findings, *legacy)
    off = () if policies.enabled else (POLICIES,)
    return replace(search.result(), findings=findings, off=off)


def _usual_language(location: str) -> str:
    """Return the language of a file in a folder of the convention; empty in other folders.

    So a broken file there is not taken for one of another language or of none.
    """
    folder, _, name = location.rpartition("/")
    for place in CONVENTION:
        lies_there = place.folder and f"{folder}/".endswith(f"/{place.folder}/")
        if lies_there and fnmatchcase(name, place.names) and place.dialect in BUILT_IN:
            return place.dialect
    return ""


def _places(policies: PolicySettings) -> tuple[Place, ...]:
    """Return the convention, with the folder that this root uses for policies."""
    here = Place(policies.policies_dir, "*.md", POLICIES)
    own = (here,) if policies.enabled else ()
    return (*own, *(place for place in CONVENTION if place.dialect != POLICIES))


def given(root: str, paths: Sequence[str], folder: str = "") -> Search:
    """Find the files that a person passed; a folder stands for the rule files in it."""
    search = _Searching(root)
    folder = folder or absolute(".")
    for path in paths:
        search.take_given(path, folder)
    return replace(search.result(), given=tuple(paths), folder=folder)


class _Searching:
    """Collects files. A file that is found twice keeps its first reason."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._found: dict[str, Found] = {}
        self._refusals: list[Diagnostic] = []
        self._places: tuple[Place, ...] = ()

    def result(self) -> Search:
        ordered = sorted(self._found.values(), key=lambda one: one.path)
        return Search(self._root, tuple(ordered), tuple(self._refusals), self._places)

    def take_given(self, path: str, from_folder: str) -> None:
        try:
            location = absolute(path, from_folder)
        except LoadError as refused:
            self._refusals += refused.diagnostics
            return
        if not is_folder(location):
            name = name_from(self._root, location) or path
            self._add(Found(name, location, _usual_language(location), Why.GIVEN, path, ""))
        elif not self._take_folder(location, ""):
            self._refuse_empty(SourceFile(path, ""), Span(0, 0), path)

    def take_named(self, book: NamedBook, source: SourceFile) -> None:
        if book.dialect and dialect_named(book.dialect) is None:
            headline = f"unknown rule language `{book.dialect}`"
            help_ = did_you_mean(book.dialect, BUILT_IN) or "install the package that provides it"
            self._refuse(error(UNKNOWN_DIALECT, headline, source, book.dialect_span, help=help_))
            return
        location = absolute(book.path, self._root)
        name = name_from(self._root, location)
        if not name and location != self._root:
            self._refuse(_outside(book.path, source, book.path_span))
        elif not is_folder(location):
            self._add(Found(name, location, book.dialect, Why.NAMED, source.path, self._root))
        elif not self._take_folder(location, book.dialect):
            self._refuse_empty(source, book.path_span, book.path)

    def take_convention(self, places: tuple[Place, ...]) -> None:
        self._places = places
        for place in places:
            for location in self._files(_below(self._root, place), place.names, place.dialect):
                name = name_from(self._root, location)
                why = (Why.CONVENTION, place.pattern, self._root, place.own_session)
                self._add(Found(name, location, place.dialect, *why))

    def _take_folder(self, folder: str, dialect: str) -> bool:
        """Add the files of the convention below a folder, and its own files if it is not a root."""
        taken = list(self._files_of_folder(folder, dialect))
        for location, language in taken:
            self._add_from(folder, location, language)
        return bool(taken)

    def _files_of_folder(self, folder: str, dialect: str) -> Iterator[tuple[str, str]]:
        if not dialect:
            for place in CONVENTION:
                for location in self._files(_below(folder, place), place.names, place.dialect):
                    yield location, place.dialect
        if dialect or not is_root(folder):
            for location in self._files(folder, "*", dialect):
                if _may_be(location, dialect):
                    yield location, dialect or _usual_language(location)

    def _add_from(self, folder: str, location: str, dialect: str) -> None:
        name = name_from(self._root, location)
        by = "." if folder == self._root else name_from(self._root, folder) or folder
        within = self._root if name else folder
        self._add(Found(name or location, location, dialect, Why.FOLDER, by, within))

    def _files(self, folder: str, names: str, dialect: str) -> Iterator[str]:
        """Yield the files of a folder that may be in a language; empty means any language."""
        try:
            with os.scandir(as_bytes(folder)) as entries:
                inside = [as_text(one.name) for one in entries if not _is_no_rule_file(one)]
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as wrong:
            self._refuse(unreadable(name_from(self._root, folder) or folder, wrong))
            return
        for name in sorted(inside):
            location = f"{folder}/{name}"
            language = dialect or _usual_language(location)
            # Hidden files belong to editors and tools, but every policy file is used (DW-110).
            if fnmatchcase(name, names) and (language == POLICIES or not name.startswith(".")):
                yield location

    def _add(self, found: Found) -> None:
        # The name is part of uids and records: it must be text, and unique.
        path = visible(found.path)
        named = found if path == found.path else replace(found, path=path)
        self._found.setdefault(found.location, named)

    def _refuse(self, diagnostic: Diagnostic) -> None:
        self._refusals.append(diagnostic)

    def _refuse_empty(self, source: SourceFile, span: Span, path: str) -> None:
        headline = f"no rule files found in `{path}`"
        self._refuse(error(NO_RULE_FILES, headline, source, span, help="name the files instead"))


def _below(top: str, place: Place) -> str:
    return f"{top}/{place.folder}" if place.folder else top


def _is_no_rule_file(entry: os.DirEntry[bytes]) -> bool:
    """Check for a folder, or for an editor's lock: a broken link next to the open file."""
    try:
        is_lock = entry.name.startswith(_LOCK) and entry.is_symlink() and not entry.is_file()
        return is_lock or entry.is_dir()
    except OSError:  # a loop of links; reading it reports the error
        return False


def _may_be(location: str, dialect: str) -> bool:
    """Check whether the name of a file that no person named fits a language."""
    if location.rpartition("/")[2] in {CONFIGURATION, PROJECT}:
        return False
    return any(one.name == dialect or not dialect for one in dialects_for(location))


def _outside(path: str, source: SourceFile, span: Span) -> Diagnostic:
    headline = f"`{path}` is outside the root"
    help_ = "copy the file into the repository, or name it on the command line"
    return error(OUTSIDE_ROOT, headline, source, span, help=help_)
