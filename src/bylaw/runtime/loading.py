"""Load rule files into books, diagnostics, and a stand-in rule for each file that does not load.

    read → recognise → group into books → load → replace broken files by stand-ins

One bad file does not affect the others. Some errors have no stand-in and refuse the complete set:
settings that do not load, a file of an unknown language, a broken file that its language calls
essential.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.dialects import book_order, dialect_named, dialects_for
from bylaw.dialects.base import RuleFile, close, stand_in
from bylaw.model.codes.books import UNKNOWN_DIALECT, UNRECOGNISED_FILE
from bylaw.model.diagnostic import Diagnostic, Severity, error, in_order
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.procedure import Book
from bylaw.model.source import SourceFile, Span
from bylaw.model.verdict import Verdict
from bylaw.runtime.beside import Surroundings
from bylaw.runtime.check_cache import CheckCache
from bylaw.runtime.discovery import Found, Search, Why, discover, given
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.root import find_root, read_configuration
from bylaw.runtime.rule_texts import RuleText, read_all

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from bylaw.dialects.base import Dialect, Loaded, Start
    from bylaw.model.procedure import Group
    from bylaw.model.rule import Rule


class LoadedBook(Struct, frozen=True):
    """A book with its language, its files as they were found, and its parts.

    `texts` are its files by path. `groups` are the rules of the files that load, `stand_ins` the
    rules in place of the others.
    """

    book: Book
    dialect: Dialect
    files: tuple[Found, ...]
    texts: Mapping[str, RuleFile]
    groups: tuple[Group, ...]
    stand_ins: Mapping[str, Rule]

    @property
    def broken(self) -> tuple[str, ...]:
        """The files that did not load."""
        return tuple(self.stand_ins)

    @property
    def own_session(self) -> bool:
        """Whether the book is active only in its own session."""
        return all(one.own_session for one in self.files) and bool(self.files)

    @property
    def starts(self) -> Sequence[Start]:
        """Everything that the rules of the book can start."""
        return self.dialect.starts(self.book, tuple(self.texts.values()))


class Library(Struct, frozen=True):
    """The loaded books. If there are `refusals`, the books must not be used."""

    search: Search
    books: tuple[LoadedBook, ...]
    diagnostics: tuple[Diagnostic, ...]
    refusals: tuple[Diagnostic, ...]

    @property
    def governing(self) -> tuple[LoadedBook, ...]:
        """The books that are active in every session."""
        return tuple(one for one in self.books if not one.own_session)

    def in_force(self) -> tuple[Book, ...]:
        """Return these books, including stand-ins; LoadError if the set is refused."""
        if self.refusals:
            raise LoadError(in_order(self.refusals))
        return tuple(one.book for one in self.governing)


def load_paths(paths: Sequence[str], tell: Callable[[str], None] | None = None) -> Library:
    """Load only the files that a person passed; they are named relative to the root."""
    return load(given(find_root(), paths), tell)


def load_root(root: str, tell: Callable[[str], None] | None = None) -> Library:
    """Load the books of a root, from its settings and the convention."""
    try:
        search = discover(root, read_configuration(root))
    except LoadError as refused:
        search = Search(root, (), tuple(refused.diagnostics))
    return load(search, tell)


def load_again(search: Search) -> Library:
    """Repeat a search and load what it finds, with the same names as before."""
    if search.given is None:
        return load_root(search.root)
    return load(given(search.root, search.given, search.folder))


def load(search: Search, tell: Callable[[str], None] | None = None) -> Library:
    """Read and load all files of a search."""
    say = tell or (lambda _: None)
    return load_read(search, read_all(search, say), say)


def load_read(
    search: Search, texts: Iterable[RuleText], say: Callable[[str], None] = lambda _: None
) -> Library:
    """Load the texts of found files."""
    shelf = _Shelf(search)
    for text in texts:
        shelf.take(text)
    books = tuple(shelf.books(say))
    diagnostics, refusals = in_order(shelf.diagnostics), in_order(shelf.refusals)
    return Library(search, books, tuple(diagnostics), tuple(refusals))


class _Shelf:
    """Groups texts by language and makes books of them."""

    def __init__(self, search: Search) -> None:
        self.refusals = list(search.refusals)
        self.diagnostics = [*search.refusals, *search.findings]
        self._root = search.root
        self._off = search.off
        self._surroundings = Surroundings()
        self._texts: dict[str, list[RuleText]] = {}

    def take(self, text: RuleText) -> None:
        try:
            dialect = language_of(text.found, text.source)
        except LoadError as refused:
            why = text.errors or refused.diagnostics  # a missing file has no language
            self.refusals += why
            self.diagnostics += why
            return
        if dialect is not None and dialect.name not in self._off:
            self._texts.setdefault(dialect.name, []).append(text)

    def books(self, say: Callable[[str], None]) -> Iterator[LoadedBook]:
        for name in sorted(self._texts, key=book_order):
            dialect, texts = dialect_named(name), self._texts[name]
            assert dialect is not None
            cache = CheckCache(dialect, self._root)
            for own in [[text] for text in texts] if dialect.one_book_per_file else [texts]:
                say(f"checking {len(own)} files of {name}")
                yield self._book(dialect, own, cache)
            cache.keep()

    def _book(self, dialect: Dialect, texts: list[RuleText], cache: CheckCache) -> LoadedBook:
        try:
            files, loaded = self._loaded(dialect, texts, cache.recall)
        except BylawError:
            # A cached note may be the cause. Load again from the texts alone.
            files, loaded = self._loaded(dialect, texts, lambda _: b"")
        cache.note(_notes(loaded, files.values()))
        unread = (dialect.in_own_words(why) for text in texts for why in text.errors)
        findings = [*loaded.diagnostics, *unread]
        self.diagnostics += findings
        errors = self._errors(dialect, files, findings)
        stand_ins = {path: stand_in(dialect, files[path], errors[path]) for path in errors}
        groups = without(loaded.groups, errors)
        return bind(dialect, [text.found for text in texts], files, groups, stand_ins)

    def _loaded(
        self, dialect: Dialect, texts: list[RuleText], recall: Callable[[str], bytes]
    ) -> tuple[dict[str, RuleFile], Loaded]:
        files = {text.found.path: self._rule_file(dialect, text, recall) for text in texts}
        return files, load_files(
            dialect, [files[one.found.path] for one in texts if not one.errors]
        )

    def _rule_file(
        self, dialect: Dialect, text: RuleText, recall: Callable[[str], bytes]
    ) -> RuleFile:
        digest = text_digest(dialect.rule_text(text.source))
        beside = self._surroundings.of(text.found.location)
        return RuleFile(text.source, digest, beside, recall(digest))

    def _errors(
        self, dialect: Dialect, files: Mapping[str, RuleFile], findings: Iterable[Diagnostic]
    ) -> dict[str, list[Diagnostic]]:
        """Return the errors of each broken file, in the order of the files."""
        errors: dict[str, list[Diagnostic]] = {path: [] for path in files}
        for one in in_order(findings):
            if one.severity is Severity.ERROR:
                # An error in a file outside the book has no stand-in, so it refuses the set.
                errors.get(one.source.path, self.refusals).append(one)
        broken = {path: why for path, why in errors.items() if why}
        for path, why in broken.items():
            if dialect.refuses_set(files[path].source):
                self.refusals += why
        return broken


def bind(
    dialect: Dialect,
    found: Sequence[Found],
    texts: Mapping[str, RuleFile],
    groups: tuple[Group, ...],
    stand_ins: Mapping[str, Rule],
) -> LoadedBook:
    """Make the book of these files, rules and stand-ins."""
    book = Book(
        dialect=dialect.name,
        path=_path_of(list(texts)),
        files=tuple(texts),
        digest=text_digest("\0".join(_parts(texts.values()))),
        groups=close(groups, dialect.when_broken.group, tuple(stand_ins.values())),
    )
    return LoadedBook(book, dialect, tuple(found), texts, groups, stand_ins)


def load_files(dialect: Dialect, files: Sequence[RuleFile]) -> Loaded:
    """Load the files of one book; BylawError if the language fails on them."""
    try:
        return dialect.load(files)
    except Exception as wrong:
        # The rules of the files are unknown, so there can be no stand-in for them.
        message = f"language `{dialect.name}` failed to load its files: {wrong}"
        raise BylawError(message) from wrong


def language_of(found: Found, source: SourceFile) -> Dialect | None:
    """Return the language of a file; None for a file in a folder that is not a rule file."""
    if found.dialect:
        return _installed(found)
    ending = fitting = dialects_for(found.path)
    in_folder = found.why is Why.FOLDER and any(one.common_ending for one in fitting)
    if len(fitting) > 1 or in_folder:
        fitting = [one for one in fitting if one.detect(source)]
    if not fitting and found.why is not Why.FOLDER:
        # Keep a file that no language recognises: it may be meant for a language that denies.
        fitting = [one for one in ending if one.when_broken.verdict >= Verdict.DENY]
    if len(fitting) == 1:
        return fitting[0]
    if found.why is Why.FOLDER:
        return None
    raise LoadError([_unrecognised(found, fitting)])


def _installed(found: Found) -> Dialect:
    dialect = dialect_named(found.dialect)
    if dialect is not None:
        return dialect
    headline = f"`{found.path}` needs the language `{found.dialect}`, which is not installed"
    help_ = "install the language, or set `discover = false` and list your books in `[[book]]`"
    nowhere = SourceFile(found.path, "")
    raise LoadError([error(UNKNOWN_DIALECT, headline, nowhere, Span(0, 0), help=help_)])


def _unrecognised(found: Found, fitting: Sequence[Dialect]) -> Diagnostic:
    headline = f"cannot determine the language of `{found.path}`"
    known = " or ".join(f"`{one.name}`" for one in fitting)
    help_ = f"it may be {known}: " if known else ""
    help_ += "set its `dialect` in a `[[book]]` of `bylaw.toml`"
    return error(UNRECOGNISED_FILE, headline, SourceFile(found.path, ""), Span(0, 0), help=help_)


def _notes(loaded: Loaded, files: Iterable[RuleFile]) -> dict[str, bytes]:
    """Return the notes of the language about files without diagnostics."""
    if not loaded.notes:
        return {}
    said = {one.source.path for one in loaded.diagnostics}
    faulty = {file.digest for file in files if file.path in said}
    return {digest: note for digest, note in loaded.notes.items() if digest not in faulty}


def text_digest(text: str) -> str:
    """Return the digest of a text, as rules and books store it."""
    return sha256(as_bytes(text)).hexdigest()


def _parts(files: Iterable[RuleFile]) -> Iterator[str]:
    """Yield each rule file and each file that was read for it: rules depend on both."""
    for file in files:
        yield f"{file.digest} {file.path}"
        for path, text in sorted(file.beside.texts.items()):
            yield f"{text_digest(text)}+{path}"


def without(groups: Iterable[Group], broken: Container[str]) -> tuple[Group, ...]:
    """Return the groups without the rules of broken files."""
    return tuple(
        replace(group, rules=tuple(one for one in group.rules if one.origin.file not in broken))
        for group in groups
    )


def _path_of(files: Sequence[str]) -> str:
    """Return the only file, else the common folder, else the first file."""
    folders = {path.rpartition("/")[0] for path in files}
    if len(files) == 1 or len(folders) > 1:
        return files[0]
    return folders.pop() or "."
