"""Load rule files into books, with a stand-in rule for each file that does not load.

    read → recognise → group into books → load → replace broken files by stand-ins

One bad file does not affect the others. Errors without a stand-in refuse the complete set: settings
that do not load, a file of an unknown language, a file that its language calls essential. On
reload, a file that no longer loads keeps its old rules; on an error without a stand-in, all stay.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.languages import book_order, find_language, languages_for
from bylaw.languages.base import RuleFile, add_stand_ins, stand_in
from bylaw.model.codes.files import KEPT_OLD_RULES, UNKNOWN_DIALECT, UNRECOGNISED_FILE
from bylaw.model.diagnostic import (
    Diagnostic,
    Severity,
    error,
    has_errors,
    sort_diagnostics,
    warning,
)
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.procedure import Book
from bylaw.model.source import SourceFile, Span
from bylaw.model.vocabulary import Verdict
from bylaw.runtime.check_cache import CheckCache
from bylaw.runtime.root import find_root, read_configuration
from bylaw.runtime.rule_files import (
    FoundRuleFile,
    RuleFileReason,
    RuleText,
    SearchResult,
    SiblingFileReader,
    discover,
    read_rule_texts,
    search_given,
)
from bylaw.store.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Container,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from bylaw.languages.base import Language, Launch, LoadResult
    from bylaw.model.procedure import Group
    from bylaw.model.rule import Rule


class LoadedBook(Struct, frozen=True):
    """A book with its language, its files as they were found, and its parts.

    `texts` are its files by path. `groups` are the rules of the files that load, `stand_ins` the
    rules in place of the others.
    """

    book: Book
    dialect: Language
    files: tuple[FoundRuleFile, ...]
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
    def starts(self) -> Sequence[Launch]:
        """Everything that the rules of the book can start."""
        return self.dialect.starts(self.book, tuple(self.texts.values()))


class Library(Struct, frozen=True):
    """The loaded books. If there are `refusals`, the books must not be used."""

    search: SearchResult
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
            raise LoadError(sort_diagnostics(self.refusals))
        return tuple(one.book for one in self.governing)


def load_paths(paths: Sequence[str], tell: Callable[[str], None] | None = None) -> Library:
    """Load only the files that a person passed; they are named relative to the root."""
    return load(search_given(find_root(), paths), tell)


def load_root(root: str, tell: Callable[[str], None] | None = None) -> Library:
    """Load the books of a root, from its settings and the convention."""
    try:
        search = discover(root, read_configuration(root))
    except LoadError as refused:
        search = SearchResult(root, (), tuple(refused.diagnostics))
    return load(search, tell)


def repeat_load(search: SearchResult) -> Library:
    """Repeat a search and load what it finds, with the same names as before."""
    if search.given is None:
        return load_root(search.root)
    return load(search_given(search.root, search.given, search.folder))


def load(search: SearchResult, tell: Callable[[str], None] | None = None) -> Library:
    """Read and load all files of a search."""
    say = tell or (lambda _: None)
    return load_texts(search, read_rule_texts(search, say), say)


def load_texts(
    search: SearchResult, texts: Iterable[RuleText], say: Callable[[str], None] = lambda _: None
) -> Library:
    """Load the texts of found files."""
    shelf = _BookBuilder(search)
    for text in texts:
        shelf.take(text)
    books = tuple(shelf.books(say))
    diagnostics, refusals = sort_diagnostics(shelf.diagnostics), sort_diagnostics(shelf.refusals)
    return Library(search, books, tuple(diagnostics), tuple(refusals))


class _BookBuilder:
    """Groups texts by language and makes books of them."""

    def __init__(self, search: SearchResult) -> None:
        self.refusals = list(search.refusals)
        self.diagnostics = [*search.refusals, *search.findings]
        self._root = search.root
        self._off = search.off
        self._surroundings = SiblingFileReader()
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
            dialect, texts = find_language(name), self._texts[name]
            assert dialect is not None
            cache = CheckCache(dialect, self._root)
            for own in [[text] for text in texts] if dialect.one_book_per_file else [texts]:
                say(f"checking {len(own)} files of {name}")
                yield self._book(dialect, own, cache)
            cache.keep()

    def _book(self, dialect: Language, texts: list[RuleText], cache: CheckCache) -> LoadedBook:
        try:
            files, loaded = self._load_files(dialect, texts, cache.find_note)
        except BylawError:
            # A cached note may be the cause. Load again from the texts alone.
            files, loaded = self._load_files(dialect, texts, lambda _: b"")
        cache.note(_notes(loaded, files.values()))
        unread = (dialect.in_own_words(why) for text in texts for why in text.errors)
        findings = [*loaded.diagnostics, *unread]
        self.diagnostics += findings
        errors = self._errors(dialect, files, findings)
        stand_ins = {path: stand_in(dialect, files[path], errors[path]) for path in errors}
        groups = without_files(loaded.groups, errors)
        return make_book(dialect, [text.found for text in texts], files, groups, stand_ins)

    def _load_files(
        self, dialect: Language, texts: list[RuleText], recall: Callable[[str], bytes]
    ) -> tuple[dict[str, RuleFile], LoadResult]:
        files = {text.found.path: self._rule_file(dialect, text, recall) for text in texts}
        return files, load_files(
            dialect, [files[one.found.path] for one in texts if not one.errors]
        )

    def _rule_file(
        self, dialect: Language, text: RuleText, recall: Callable[[str], bytes]
    ) -> RuleFile:
        digest = text_digest(dialect.rule_text(text.source))
        beside = self._surroundings.of(text.found.location)
        return RuleFile(text.source, digest, beside, recall(digest))

    def _errors(
        self, dialect: Language, files: Mapping[str, RuleFile], findings: Iterable[Diagnostic]
    ) -> dict[str, list[Diagnostic]]:
        """Return the errors of each broken file, in the order of the files."""
        errors: dict[str, list[Diagnostic]] = {path: [] for path in files}
        for one in sort_diagnostics(findings):
            if one.severity is Severity.ERROR:
                # An error in a file outside the book has no stand-in, so it refuses the set.
                errors.get(one.source.path, self.refusals).append(one)
        broken = {path: why for path, why in errors.items() if why}
        for path, why in broken.items():
            if dialect.refuses_set(files[path].source):
                self.refusals += why
        return broken


def make_book(
    dialect: Language,
    found: Sequence[FoundRuleFile],
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
        groups=add_stand_ins(groups, dialect.when_broken.group, tuple(stand_ins.values())),
    )
    return LoadedBook(book, dialect, tuple(found), texts, groups, stand_ins)


def load_files(dialect: Language, files: Sequence[RuleFile]) -> LoadResult:
    """Load the files of one book; BylawError if the language fails on them."""
    try:
        return dialect.load(files)
    except Exception as wrong:
        # The rules of the files are unknown, so there can be no stand-in for them.
        message = f"language `{dialect.name}` failed to load its files: {wrong}"
        raise BylawError(message) from wrong


def language_of(found: FoundRuleFile, source: SourceFile) -> Language | None:
    """Return the language of a file; None for a file in a folder that is not a rule file."""
    if found.dialect:
        return _installed_language(found)
    ending = fitting = languages_for(found.path)
    in_folder = found.why is RuleFileReason.FOLDER and any(one.common_ending for one in fitting)
    if len(fitting) > 1 or in_folder:
        fitting = [one for one in fitting if one.detect(source)]
    if not fitting and found.why is not RuleFileReason.FOLDER:
        # Keep a file that no language recognises: it may be meant for a language that denies.
        fitting = [one for one in ending if one.when_broken.verdict >= Verdict.DENY]
    if len(fitting) == 1:
        return fitting[0]
    if found.why is RuleFileReason.FOLDER:
        return None
    raise LoadError([_unrecognised_error(found, fitting)])


def _installed_language(found: FoundRuleFile) -> Language:
    dialect = find_language(found.dialect)
    if dialect is not None:
        return dialect
    headline = f"`{found.path}` needs the language `{found.dialect}`, which is not installed"
    help_ = "install the language, or set `discover = false` and list your books in `[[book]]`"
    nowhere = SourceFile(found.path, "")
    raise LoadError([error(UNKNOWN_DIALECT, headline, nowhere, Span(0, 0), help=help_)])


def _unrecognised_error(found: FoundRuleFile, fitting: Sequence[Language]) -> Diagnostic:
    headline = f"cannot determine the language of `{found.path}`"
    known = " or ".join(f"`{one.name}`" for one in fitting)
    help_ = f"it may be {known}: " if known else ""
    help_ += "set its `dialect` in a `[[book]]` of `bylaw.toml`"
    return error(UNRECOGNISED_FILE, headline, SourceFile(found.path, ""), Span(0, 0), help=help_)


def _notes(loaded: LoadResult, files: Iterable[RuleFile]) -> dict[str, bytes]:
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


def without_files(groups: Iterable[Group], broken: Container[str]) -> tuple[Group, ...]:
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


def merge_reloaded(old: Library, new: Library) -> Library:
    """Return the active books; they are those of `old` if nothing changed."""
    before = {_key(one): one for one in old.books}
    pairs = [(before.get(_key(one)), one) for one in new.books]
    kept = {path for was, one in pairs for path in _kept_files(was, one)}
    refusals = [one for one in new.refusals if one.source.path not in kept]
    if refusals:
        why = _set_report(refusals[0].source)
        return replace(old, diagnostics=tuple(sort_diagnostics([*new.diagnostics, why])))
    books = tuple(_merge(was, one) for was, one in pairs)
    reports = (report for was, one in pairs for report in _reports(was, one))
    return Library(
        search=new.search,
        books=old.books if _are_identical(old.books, books) else books,
        diagnostics=tuple(sort_diagnostics([*new.diagnostics, *reports])),
        refusals=(),
    )


def _key(one: LoadedBook) -> tuple[str, str]:
    return one.dialect.name, one.book.path if one.dialect.one_book_per_file else ""


def _kept_files(old: LoadedBook | None, new: LoadedBook) -> list[str]:
    """Return the files that loaded before and do not load now."""
    if old is None:
        return []
    return [path for path in new.broken if path in old.texts and path not in old.stand_ins]


def _merge(old: LoadedBook | None, new: LoadedBook) -> LoadedBook:
    if old is None:
        return new
    kept = _kept_files(old, new)
    if kept:
        new = (
            _mix_rules(old, new, kept)
            if _can_combine(old, new, kept)
            else _keep_old_rules(old, new)
        )
    return old if _is_unchanged(old, new) else new


def _can_combine(old: LoadedBook, new: LoadedBook, kept: Collection[str]) -> bool:
    """Check whether the old rules of some files can be combined with the new files.

    Loads them together, because another file may now use the id of a rule that is kept.
    """
    loading = [path for path in new.texts if path in kept or path not in new.stand_ins]
    files = [(old if path in kept else new).texts[path] for path in loading]
    return _has_same_groups(old, new) and not has_errors(new.dialect.load(files).diagnostics)


def _has_same_groups(old: LoadedBook, new: LoadedBook) -> bool:
    """Check whether rules of both may be in one group."""
    return _group_properties(old.groups) == _group_properties(new.groups)


def _group_properties(groups: Iterable[Group]) -> list[tuple[object, ...]]:
    return [(group.name, group.visit, group.procedure) for group in groups]


def _mix_rules(old: LoadedBook, new: LoadedBook, kept: Collection[str]) -> LoadedBook:
    """Return the new book with the old rules of some files."""
    texts = {path: (old if path in kept else new).texts[path] for path in new.texts}
    places = {path: place for place, path in enumerate(texts)}

    def joined(was: Group, group: Group) -> Group:
        rules = [*group.rules, *(rule for rule in was.rules if rule.origin.file in kept)]
        # The sort is stable, so the order within a file stays. Rules without a file come first.
        rules.sort(key=lambda one: places.get(one.origin.file, -1))
        return replace(group, rules=tuple(rules))

    groups = tuple(map(joined, old.groups, new.groups))
    stand_ins = {path: rule for path, rule in new.stand_ins.items() if path not in kept}
    return make_book(new.dialect, new.files, texts, groups, stand_ins)


def _keep_old_rules(old: LoadedBook, new: LoadedBook) -> LoadedBook:
    """Return the old book, with stand-ins for files that had no rules of their own."""
    texts = {path: old.texts[path] for path in old.texts if path not in old.stand_ins}
    # A fixed file is not taken over, so its stand-in stays.
    rules = {**old.stand_ins, **new.stand_ins}
    stand_ins = {path: rules[path] for path in new.texts if path in rules and path not in texts}
    texts |= {path: new.texts[path] for path in stand_ins}
    found = {one.path: one for one in (*new.files, *old.files)}
    texts = dict(sorted(texts.items()))
    return make_book(old.dialect, [found[path] for path in texts], texts, old.groups, stand_ins)


def _is_unchanged(old: LoadedBook, new: LoadedBook) -> bool:
    # Equal texts give equal rules. The stand-in of a file also contains why it does not load. A
    # file that is now listed in the settings is active in more sessions.
    return (
        old.book.digest == new.book.digest
        and old.stand_ins == new.stand_ins
        and old.own_session == new.own_session
    )


def _are_identical(old: tuple[LoadedBook, ...], new: tuple[LoadedBook, ...]) -> bool:
    return len(old) == len(new) and all(map(lambda was, one: was is one, old, new))


def _reports(old: LoadedBook | None, new: LoadedBook) -> Iterable[Diagnostic]:
    """Report for each kept file that its old rules are active."""
    if old is None:
        return
    kept = _kept_files(old, new)
    many = kept and not old.dialect.one_book_per_file and not _can_combine(old, new, kept)
    for path in kept:
        what = f"all rules of `{old.dialect.name}`" if many else f"the rules of `{path}`"
        yield _report(SourceFile(path, ""), f"{what} are unchanged until `{path}` loads")


def _set_report(source: SourceFile) -> Diagnostic:
    headline = f"all rules are unchanged until `{source.path}` is fixed"
    return _report(SourceFile(source.path, ""), headline)


def _report(source: SourceFile, headline: str) -> Diagnostic:
    help_ = "fix the error, then load the rules again"
    return warning(KEPT_OLD_RULES, headline, source, Span(0, 0), help=help_)
