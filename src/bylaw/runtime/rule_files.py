"""Find rule files, read their texts, and read files next to them, such as scripts.

Files come from the settings and the convention of a root, or from a person. A problem during the
search has no stand-in, so it refuses the complete set of rules. Files that rules name are recorded:
they are part of the digest of the book.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum
from errno import ELOOP
from fnmatch import fnmatchcase
from functools import cache
from posixpath import normpath
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from bylaw.expr.limits import MAX_SCRIPT_BYTES
from bylaw.languages import BUILT_IN, find_language, languages_for
from bylaw.languages.base import SiblingFileError
from bylaw.model.codes.files import NO_RULE_FILES, OUTSIDE_ROOT, UNKNOWN_DIALECT
from bylaw.model.diagnostic import Diagnostic, error
from bylaw.model.display import clip_text, visible
from bylaw.model.errors import LoadError
from bylaw.model.source import EncodingError, SourceFile, Span
from bylaw.model.suggest import did_you_mean
from bylaw.runtime.policy_settings import POLICIES_DIR, legacy_warning, read_policy_settings
from bylaw.runtime.root import CONFIGURATION, PROJECT, is_root
from bylaw.store.files import (
    MAX_INPUT_BYTES,
    absolute,
    decode_source,
    os_error_text,
    read_file,
    read_regular_bytes,
    too_large_error,
    unreadable_error,
)
from bylaw.store.paths import (
    as_bytes,
    as_text,
    folder_of,
    is_folder,
    is_inside,
    real_path,
    relative_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.runtime.policy_settings import PolicySettings
    from bylaw.runtime.root import Configuration, NamedBook


class RuleFolder(NamedTuple):
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
    RuleFolder(POLICIES_DIR, "*.md", POLICIES),
    RuleFolder("rules", "*.toml", "toml"),
    RuleFolder(".bylaw/rules", "*.toml", "toml"),
    RuleFolder("backend/src/services/plugins/rules", "*.toml", "toml"),
    RuleFolder("runtime/rules", "*.yaml", "law"),
    RuleFolder("", "*.chatmd", "chatmd", own_session=True),
    RuleFolder("prompts", "*.chatmd", "chatmd", own_session=True),
    RuleFolder(".bylaw/context", "*.md", "context"),
)


class RuleFileReason(StrEnum):
    """How a file was found."""

    GIVEN = "given"
    NAMED = "named"
    FOLDER = "folder"
    CONVENTION = "convention"


class FoundRuleFile(Struct, frozen=True):
    """A rule file: its path from the root, its location, and its language if that is known.

    `by` is the argument, setting, folder or pattern that led to it. `within` is the folder that no
    link may leave; empty for a file that a person passed. A file with `own_session`, such as a
    chat that no setting lists, is active only in its own session.
    """

    path: str
    location: str
    dialect: str
    why: RuleFileReason
    by: str
    within: str
    own_session: bool = False


class SearchResult(Struct, frozen=True):
    """The result of a search: rule files in the order of their paths, and problems.

    `given` are the paths that a person passed, relative to `folder`; None for the books of the
    root. `places` are the places of the convention that were searched. `findings` are reported and
    refuse nothing. Files in a language that is `off` are ignored.
    """

    root: str
    found: tuple[FoundRuleFile, ...]
    refusals: tuple[Diagnostic, ...] = ()
    places: tuple[RuleFolder, ...] = ()
    given: tuple[str, ...] | None = None
    folder: str = ""
    findings: tuple[Diagnostic, ...] = ()
    off: tuple[str, ...] = ()


def discover(root: str, settings: Configuration) -> SearchResult:
    """Find the books that the settings list, and those of the convention unless it is off."""
    search = _RuleFileSearch(root)
    policies = read_policy_settings(root)
    for book in settings.books:
        search.add_named(book, settings.source)
    if settings.discover:
        search.add_convention(_places(policies))
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


def _places(policies: PolicySettings) -> tuple[RuleFolder, ...]:
    """Return the convention, with the folder that this root uses for policies."""
    here = RuleFolder(policies.policies_dir, "*.md", POLICIES)
    own = (here,) if policies.enabled else ()
    return (*own, *(place for place in CONVENTION if place.dialect != POLICIES))


def search_given(root: str, paths: Sequence[str], folder: str = "") -> SearchResult:
    """Find the files that a person passed; a folder stands for the rule files in it."""
    search = _RuleFileSearch(root)
    folder = folder or absolute(".")
    for path in paths:
        search.add_given(path, folder)
    return replace(search.result(), given=tuple(paths), folder=folder)


class _RuleFileSearch:
    """Collects files. A file that is found twice keeps its first reason."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._found: dict[str, FoundRuleFile] = {}
        self._refusals: list[Diagnostic] = []
        self._places: tuple[RuleFolder, ...] = ()

    def result(self) -> SearchResult:
        ordered = sorted(self._found.values(), key=lambda one: one.path)
        return SearchResult(self._root, tuple(ordered), tuple(self._refusals), self._places)

    def add_given(self, path: str, from_folder: str) -> None:
        try:
            location = absolute(path, from_folder)
        except LoadError as refused:
            self._refusals += refused.diagnostics
            return
        if not is_folder(location):
            name = relative_name(self._root, location) or path
            self._add(
                FoundRuleFile(
                    name, location, _usual_language(location), RuleFileReason.GIVEN, path, ""
                )
            )
        elif not self._add_folder(location, ""):
            self._refuse_empty(SourceFile(path, ""), Span(0, 0), path)

    def add_named(self, book: NamedBook, source: SourceFile) -> None:
        if book.dialect and find_language(book.dialect) is None:
            headline = f"unknown rule language `{book.dialect}`"
            help_ = did_you_mean(book.dialect, BUILT_IN) or "install the package that provides it"
            self._refuse(error(UNKNOWN_DIALECT, headline, source, book.dialect_span, help=help_))
            return
        location = absolute(book.path, self._root)
        name = relative_name(self._root, location)
        if not name and location != self._root:
            self._refuse(_outside_error(book.path, source, book.path_span))
        elif not is_folder(location):
            self._add(
                FoundRuleFile(
                    name, location, book.dialect, RuleFileReason.NAMED, source.path, self._root
                )
            )
        elif not self._add_folder(location, book.dialect):
            self._refuse_empty(source, book.path_span, book.path)

    def add_convention(self, places: tuple[RuleFolder, ...]) -> None:
        self._places = places
        for place in places:
            for location in self._files(_below(self._root, place), place.names, place.dialect):
                name = relative_name(self._root, location)
                why = (RuleFileReason.CONVENTION, place.pattern, self._root, place.own_session)
                self._add(FoundRuleFile(name, location, place.dialect, *why))

    def _add_folder(self, folder: str, dialect: str) -> bool:
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
                if _may_be_rule_file(location, dialect):
                    yield location, dialect or _usual_language(location)

    def _add_from(self, folder: str, location: str, dialect: str) -> None:
        name = relative_name(self._root, location)
        by = "." if folder == self._root else relative_name(self._root, folder) or folder
        within = self._root if name else folder
        self._add(
            FoundRuleFile(name or location, location, dialect, RuleFileReason.FOLDER, by, within)
        )

    def _files(self, folder: str, names: str, dialect: str) -> Iterator[str]:
        """Yield the files of a folder that may be in a language; empty means any language."""
        try:
            with os.scandir(as_bytes(folder)) as entries:
                inside = [as_text(one.name) for one in entries if not _is_skipped(one)]
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as wrong:
            self._refuse(unreadable_error(relative_name(self._root, folder) or folder, wrong))
            return
        for name in sorted(inside):
            location = f"{folder}/{name}"
            language = dialect or _usual_language(location)
            # Hidden files belong to editors and tools, but every policy file is used (DW-110).
            if fnmatchcase(name, names) and (language == POLICIES or not name.startswith(".")):
                yield location

    def _add(self, found: FoundRuleFile) -> None:
        # The name is part of uids and records: it must be text, and unique.
        path = visible(found.path)
        named = found if path == found.path else replace(found, path=path)
        self._found.setdefault(found.location, named)

    def _refuse(self, diagnostic: Diagnostic) -> None:
        self._refusals.append(diagnostic)

    def _refuse_empty(self, source: SourceFile, span: Span, path: str) -> None:
        headline = f"no rule files found in `{path}`"
        self._refuse(error(NO_RULE_FILES, headline, source, span, help="name the files instead"))


def _below(top: str, place: RuleFolder) -> str:
    return f"{top}/{place.folder}" if place.folder else top


def _is_skipped(entry: os.DirEntry[bytes]) -> bool:
    """Check for a folder, or for an editor's lock: a broken link next to the open file."""
    try:
        is_lock = entry.name.startswith(_LOCK) and entry.is_symlink() and not entry.is_file()
        return is_lock or entry.is_dir()
    except OSError:  # a loop of links; reading it reports the error
        return False


def _may_be_rule_file(location: str, dialect: str) -> bool:
    """Check whether the name of a file that no person named fits a language."""
    if location.rpartition("/")[2] in {CONFIGURATION, PROJECT}:
        return False
    return any(one.name == dialect or not dialect for one in languages_for(location))


def _outside_error(path: str, source: SourceFile, span: Span) -> Diagnostic:
    headline = f"`{path}` is outside the root"
    help_ = "copy the file into the repository, or name it on the command line"
    return error(OUTSIDE_ROOT, headline, source, span, help=help_)


# All rule files together; the limit of one file is `reading.MAX_INPUT_BYTES`.
MAX_ALL_BYTES = 64 * 1024 * 1024
PROGRESS_EVERY = 64  # files between two progress messages


class RuleText(Struct, frozen=True, gc=False):
    """A file with its text, or with the errors why it could not be read."""

    found: FoundRuleFile
    source: SourceFile
    errors: tuple[Diagnostic, ...] = ()


def read_rule_texts(search: SearchResult, say: Callable[[str], None]) -> Iterator[RuleText]:
    """Yield the texts of all found files, in their order."""
    reader = _Reader()
    for number, found in enumerate(search.found):
        if number % PROGRESS_EVERY == 0:
            say(f"reading file {number + 1} of {len(search.found)}")
        try:
            yield RuleText(found, reader.read(found))
        except LoadError as refused:
            (why,) = refused.diagnostics
            # Keep the name under which the file was found; the diagnostic may have another.
            yield RuleText(found, SourceFile(found.path, why.source.text), (why,))


class _Reader:
    """Reads rule files up to a total size."""

    def __init__(self) -> None:
        self._left = MAX_ALL_BYTES
        self._real = cache(real_path)  # of folders: most files share one

    def read(self, found: FoundRuleFile) -> SourceFile:
        source = self._source(found)
        self._left -= len(source.text)
        if self._left < 0:
            headline = f"the rule files together are larger than {MAX_ALL_BYTES:,} bytes"
            raise LoadError([too_large_error(found.path, headline)])
        return source

    def _source(self, found: FoundRuleFile) -> SourceFile:
        if not found.within:
            return read_file(found.location, found.path)
        try:
            return decode_source(found.path, self._bytes_within(found))
        except (OSError, ValueError) as wrong:
            raise LoadError([unreadable_error(found.path, wrong)]) from None

    def _bytes_within(self, found: FoundRuleFile) -> bytes:
        self._refuse_outside(found, self._real(folder_of(found.location)))
        try:
            return read_regular_bytes(found.location, MAX_INPUT_BYTES, links=False)
        except OSError as wrong:
            if wrong.errno != ELOOP:
                raise
        real = real_path(found.location)
        self._refuse_outside(found, real)
        return read_regular_bytes(real, MAX_INPUT_BYTES, links=False)

    def _refuse_outside(self, found: FoundRuleFile, real: str) -> None:
        if not is_inside(real, self._real(found.within)):
            raise LoadError([_link_error(found)])


def _link_error(found: FoundRuleFile) -> Diagnostic:
    headline = f"`{found.path}` is a link that leads out of the root"
    help_ = "copy the file into the repository, or name it on the command line"
    return error(OUTSIDE_ROOT, headline, SourceFile(found.path, ""), Span(0, 0), help=help_)


MAX_ALL_SIBLING_BYTES = 16 * 1024 * 1024  # for all rule files of one load
MAX_SHOWN = 200  # characters of a path in a reason

_REFUSED = (
    (re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]"), "contains a control character"),
    (re.compile(r"\\"), "contains a backslash; separate folders with `/`"),
    (re.compile(r"\A/"), "is absolute; write it relative to the folder of the rule file"),
    (re.compile(r"\A\Z|//|/\Z"), "is not the path of a file: a part of it is empty"),
)


class SiblingFileReader:
    """The files next to all rule files of one load, up to a total size."""

    def __init__(self) -> None:
        self._left = MAX_ALL_SIBLING_BYTES
        self._real = cache(real_path)  # of folders: most files share one
        self._text = cache(self._read)  # a script may serve many rules

    def of(self, location: str) -> DiskSiblings:
        """Return the files next to the rule file at a location."""
        return DiskSiblings(folder_of(location), self)

    def read(self, folder: str, path: str) -> str:
        """Read a file below a folder; BesideError says why it cannot be read."""
        for refused, why in _REFUSED:
            if refused.search(path):
                raise _error(path, why)
        if normpath(path).partition("/")[0] == "..":
            raise _error(path, "leads out of the folder of the rule file")
        return self._text(folder, path)

    def _read(self, folder: str, path: str) -> str:
        data = self._bytes(folder, path)
        if len(data) > MAX_SCRIPT_BYTES:
            raise _error(path, f"is larger than {MAX_SCRIPT_BYTES:,} bytes")
        self._left -= len(data)
        if self._left < 0:
            limit = f"{MAX_ALL_SIBLING_BYTES:,} bytes"
            raise _error(path, f"is too much: files that rule files name exceed {limit} together")
        try:
            return SourceFile.decode(path, data).text
        except EncodingError as wrong:
            raise _error(path, f"is not UTF-8 text: byte 0x{wrong.byte:02x}") from None

    def _bytes(self, folder: str, path: str) -> bytes:
        try:
            real = real_path(f"{folder}/{path}")
            if not is_inside(real, self._real(folder)):
                raise _error(path, "is a link that leads out of the folder of the rule file")
            return read_regular_bytes(real, MAX_SCRIPT_BYTES, links=False)
        except (FileNotFoundError, NotADirectoryError):
            raise _error(path, "does not exist") from None
        except (OSError, ValueError) as wrong:
            raise _error(path, f"cannot be read: {os_error_text(wrong)}") from None


class DiskSiblings:
    """The files below the folder of one rule file; `texts` are those that were read, by path."""

    def __init__(self, folder: str, surroundings: SiblingFileReader) -> None:
        self.texts: dict[str, str] = {}
        self._folder = folder
        self._surroundings = surroundings

    def read(self, path: str) -> str:
        """Read a file by its path from the folder; BesideError says why it cannot be read."""
        text = self._surroundings.read(self._folder, path)
        self.texts[path] = text
        return text


def _error(path: str, why: str) -> SiblingFileError:
    return SiblingFileError(f"`{clip_text(path, MAX_SHOWN)}` {why}")
