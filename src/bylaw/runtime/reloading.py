"""Combine the active books with the same files loaded again, and return the new active books.

Files that load are taken over: changed, new and removed ones. A file that loaded before and does
not load now keeps its old rules; it gets no stand-in. A file that never loaded gets a stand-in, as
at the start. If an error has no stand-in, everything stays unchanged.

If the files of a book together decide how its groups are read, the book is kept or replaced as a
unit: old and new rules mixed would be read in an order that no file states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.model.codes.books import KEPT_OLD_RULES
from bylaw.model.diagnostic import Diagnostic, has_errors, in_order, warning
from bylaw.model.source import SourceFile, Span
from bylaw.runtime.loading import Library, LoadedBook, bind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from bylaw.model.procedure import Group


def reloaded(old: Library, new: Library) -> Library:
    """Return the active books; they are those of `old` if nothing changed."""
    before = {_key(one): one for one in old.books}
    pairs = [(before.get(_key(one)), one) for one in new.books]
    kept = {path for was, one in pairs for path in _kept(was, one)}
    refusals = [one for one in new.refusals if one.source.path not in kept]
    if refusals:
        why = _whole_set(refusals[0].source)
        return replace(old, diagnostics=tuple(in_order([*new.diagnostics, why])))
    books = tuple(_merged(was, one) for was, one in pairs)
    reports = (report for was, one in pairs for report in _reports(was, one))
    return Library(
        search=new.search,
        books=old.books if _identical(old.books, books) else books,
        diagnostics=tuple(in_order([*new.diagnostics, *reports])),
        refusals=(),
    )


def _key(one: LoadedBook) -> tuple[str, str]:
    return one.dialect.name, one.book.path if one.dialect.one_book_per_file else ""


def _kept(old: LoadedBook | None, new: LoadedBook) -> list[str]:
    """Return the files that loaded before and do not load now."""
    if old is None:
        return []
    return [path for path in new.broken if path in old.texts and path not in old.stand_ins]


def _merged(old: LoadedBook | None, new: LoadedBook) -> LoadedBook:
    if old is None:
        return new
    kept = _kept(old, new)
    if kept:
        new = _mixed(old, new, kept) if _go_together(old, new, kept) else _as_before(old, new)
    return old if _same(old, new) else new


def _go_together(old: LoadedBook, new: LoadedBook, kept: Collection[str]) -> bool:
    """Check whether the old rules of some files can be combined with the new files.

    Loads them together, because another file may now use the id of a rule that is kept.
    """
    loading = [path for path in new.texts if path in kept or path not in new.stand_ins]
    files = [(old if path in kept else new).texts[path] for path in loading]
    return _read_alike(old, new) and not has_errors(new.dialect.load(files).diagnostics)


def _read_alike(old: LoadedBook, new: LoadedBook) -> bool:
    """Check whether rules of both may be in one group."""
    return _ways(old.groups) == _ways(new.groups)


def _ways(groups: Iterable[Group]) -> list[tuple[object, ...]]:
    return [(group.name, group.visit, group.procedure) for group in groups]


def _mixed(old: LoadedBook, new: LoadedBook, kept: Collection[str]) -> LoadedBook:
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
    return bind(new.dialect, new.files, texts, groups, stand_ins)


def _as_before(old: LoadedBook, new: LoadedBook) -> LoadedBook:
    """Return the old book, with stand-ins for files that had no rules of their own."""
    texts = {path: old.texts[path] for path in old.texts if path not in old.stand_ins}
    # A fixed file is not taken over, so its stand-in stays.
    rules = {**old.stand_ins, **new.stand_ins}
    stand_ins = {path: rules[path] for path in new.texts if path in rules and path not in texts}
    texts |= {path: new.texts[path] for path in stand_ins}
    found = {one.path: one for one in (*new.files, *old.files)}
    texts = dict(sorted(texts.items()))
    return bind(old.dialect, [found[path] for path in texts], texts, old.groups, stand_ins)


def _same(old: LoadedBook, new: LoadedBook) -> bool:
    # Equal texts give equal rules. The stand-in of a file also contains why it does not load. A
    # file that is now listed in the settings is active in more sessions.
    return (
        old.book.digest == new.book.digest
        and old.stand_ins == new.stand_ins
        and old.own_session == new.own_session
    )


def _identical(old: tuple[LoadedBook, ...], new: tuple[LoadedBook, ...]) -> bool:
    return len(old) == len(new) and all(map(lambda was, one: was is one, old, new))


def _reports(old: LoadedBook | None, new: LoadedBook) -> Iterable[Diagnostic]:
    """Report for each kept file that its old rules are active."""
    if old is None:
        return
    kept = _kept(old, new)
    many = kept and not old.dialect.one_book_per_file and not _go_together(old, new, kept)
    for path in kept:
        what = f"all rules of `{old.dialect.name}`" if many else f"the rules of `{path}`"
        yield _report(SourceFile(path, ""), f"{what} are unchanged until `{path}` loads")


def _whole_set(source: SourceFile) -> Diagnostic:
    headline = f"all rules are unchanged until `{source.path}` is fixed"
    return _report(SourceFile(source.path, ""), headline)


def _report(source: SourceFile, headline: str) -> Diagnostic:
    help_ = "fix the error, then load the rules again"
    return warning(KEPT_OLD_RULES, headline, source, Span(0, 0), help=help_)
