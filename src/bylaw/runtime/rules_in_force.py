"""Rules by uid, the rules that a program disabled, and rules rebuilt from the journal.

Old decisions are explained and replayed with the rule texts that the journal keeps; no rule file is
read. One id may stand for several adjacent rules with the same uid. Built-in rules have no name.
What a program disables or enables overrides the switches of its root; nothing is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bylaw.languages import find_language
from bylaw.languages.base import RuleFile, SiblingFileError, stand_in_at
from bylaw.model.diagnostic import Severity
from bylaw.model.display import brief, clip_text
from bylaw.model.errors import BylawError, RuleError
from bylaw.model.event import RulesChanged
from bylaw.model.rule import built_in_uid
from bylaw.model.source import SourceFile
from bylaw.model.suggest import did_you_mean
from bylaw.runtime.loader import load_files, make_book, text_digest, without_files
from bylaw.store.journal.records import decode_files, rules_digest

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from bylaw.languages.base import Language
    from bylaw.model.event import Event
    from bylaw.model.procedure import Book
    from bylaw.model.rule import Origin, Rule
    from bylaw.model.vocabulary import CallStatus, Kind
    from bylaw.store.journal.records import RowSource, RuleSource


class StoredSiblings(Struct, frozen=True):
    """The files next to a rule file, as they were read when the rules were loaded."""

    texts: Mapping[str, str]

    def read(self, path: str) -> str:
        """Return the text of a file; BesideError if it was not read then."""
        if path not in self.texts:
            raise SiblingFileError(f"`{path}` is not in the journal")
        return self.texts[path]


class StoredFile(Struct, frozen=True):
    """A rule file with its recorded text, and its entry in the journal."""

    stored: RuleSource
    file: RuleFile


def stored_rules(rows: RowSource, digest: bytes) -> tuple[Book, ...] | None:
    """Return the books of a digest; None if their texts are missing or give other rules today."""
    files = stored_files(rows, digest)
    if files is None:
        return None
    try:
        books = tuple(_build_book(*one) for one in _group_by_book(files))
    except BylawError:  # the language is not installed, or no longer accepts the texts
        return None
    return books if rules_digest(books) == digest else None


def stored_files(rows: RowSource, digest: bytes) -> list[StoredFile] | None:
    """Return the rule files of a digest; None if they are not stored."""
    found = rows.query("SELECT files FROM rule_sets WHERE digest = ?", (digest,))
    try:
        return [_file(rows, one) for one in decode_files(found[0][0])] if found else None
    except (LookupError, msgspec.MsgspecError):
        return None


def _file(rows: RowSource, stored: RuleSource) -> StoredFile:
    text = _text(rows, stored.text)
    beside = {path: _text(rows, key) for path, key in stored.beside.items()}
    source = SourceFile(stored.path, text)
    return StoredFile(stored, RuleFile(source, text_digest(text), StoredSiblings(beside)))


def _text(rows: RowSource, key: bytes) -> str:
    found = rows.query("SELECT text FROM sources WHERE digest = ?", (key,))
    return str(found[0][0])


def _group_by_book(files: Sequence[StoredFile]) -> Iterator[tuple[Language, list[StoredFile]]]:
    """Yield the files of each book, in the order in which they were stored."""
    by_name: dict[str, list[StoredFile]] = {}
    for one in files:
        by_name.setdefault(one.stored.dialect, []).append(one)
    for name, own in by_name.items():
        dialect = find_language(name)
        if dialect is None:
            raise BylawError(f"the language `{name}` is not installed")
        for book in [[one] for one in own] if dialect.one_book_per_file else [own]:
            yield dialect, book


def _build_book(dialect: Language, own: Sequence[StoredFile]) -> Book:
    files = {one.file.path: one.file for one in own}
    stand_ins = {
        one.file.path: stand_in_at(dialect, one.file, one.stored.broken.line, one.stored.broken.why)
        for one in own
        if one.stored.broken is not None
    }
    loaded = load_files(dialect, list(files.values()))
    for finding in loaded.diagnostics:
        if finding.severity is Severity.ERROR and finding.source.path not in stand_ins:
            raise BylawError(f"`{finding.source.path}` no longer loads: {finding.headline}")
    return make_book(dialect, (), files, without_files(loaded.groups, stand_ins), stand_ins).book


MAX_HINT = 500  # characters of a suggestion


class NamedRule(Struct, frozen=True):
    """The rules that one id of a file stands for."""

    uid: str
    id: str
    dialect: str
    parts: tuple[Rule, ...]

    @property
    def origin(self) -> Origin:
        """The file and line of the rule."""
        return self.parts[0].origin

    @property
    def place(self) -> str:
        """File and line as text."""
        return f"{self.origin.file}:{self.origin.line}"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of events that the rule applies to."""
        return tuple(dict.fromkeys(kind for part in self.parts for kind in part.on.kinds))

    @property
    def status(self) -> tuple[CallStatus, ...]:
        """The results of calls that the rule applies to; empty means all."""
        if not all(part.on.status for part in self.parts):
            return ()
        return tuple(dict.fromkeys(status for part in self.parts for status in part.on.status))

    @property
    def core(self) -> bool:
        """Whether the rule cannot be disabled."""
        return any(part.core for part in self.parts)

    @property
    def enabled(self) -> bool:
        """Whether the rule is enabled in its file; a core rule always is."""
        return self.core or any(part.enabled for part in self.parts)

    def is_disabled(self, disabled: Container[str]) -> bool:
        """Check whether a person disabled the rule; False for a core rule."""
        return not self.core and self.uid in disabled


def named_rules(books: Iterable[Book]) -> dict[str, NamedRule]:
    """Return all rules with a name, by uid, in the order of the books and their groups."""
    parts: dict[tuple[str, str], list[Rule]] = {}
    for book in books:
        ours = built_in_uid(book.dialect, "")
        for group in book.groups:
            for rule in group.rules:
                if not rule.uid.startswith(ours):
                    parts.setdefault((book.dialect, rule.uid), []).append(rule)
    return {
        uid: NamedRule(uid, same[0].id, dialect, tuple(same))
        for (dialect, uid), same in parts.items()
    }


def find_rule(rules: Mapping[str, NamedRule], name: str) -> NamedRule:
    """Return the rule with that uid or id; RuleError if there is none, or more than one."""
    if name in rules:
        return rules[name]
    found = [rule for rule in rules.values() if rule.id == name]
    if not found:
        known = rules if "#" in name else {rule.id for rule in rules.values()}
        hint = did_you_mean(name, known) or "no rules are loaded"
        raise RuleError(f"unknown rule `{brief(name)}`: {clip_text(hint, MAX_HINT)}")
    if len(found) > 1:
        uids = ", ".join(f"`{rule.uid}`" for rule in found)
        raise RuleError(f"{len(found)} rules have the id `{name}`: {clip_text(uids, MAX_HINT)}")
    return found[0]


def check_switch(rule: NamedRule, *, on: bool) -> None:
    """Raise RuleError if the rule cannot be disabled, or not be enabled."""
    if rule.core and not on:
        message = f"`{rule.id}` is a core rule and cannot be disabled; see {rule.place}"
        raise RuleError(message)
    if on and not rule.enabled:
        message = f"`{rule.id}` is disabled in its file: set `enabled = true` in {rule.place}"
        raise RuleError(message)


class DisabledRules:
    """The disabled rules of an engine, as they are stamped on every event."""

    def __init__(self, books: Sequence[Book], off: Iterable[str]) -> None:
        self._set_by_program: dict[str, bool] = {}
        self.renew(books, off)

    def renew(self, books: Sequence[Book], off: Iterable[str]) -> None:
        """Use other books, or other disabled rules of the root."""
        self._rules = named_rules(books)
        self._digest = rules_digest(books).hex()
        self._disabled_by_root = frozenset(off)
        self._set_by_program = {u: on for u, on in self._set_by_program.items() if u in self._rules}
        self._update_disabled()

    def switch(self, name: str, *, on: bool) -> None:
        """Enable or disable the rule with that id or uid; RuleError if that is not possible."""
        rule = find_rule(self._rules, name)
        check_switch(rule, on=on)
        self._set_by_program[rule.uid] = on
        self._update_disabled()

    def changed(self, before: Sequence[str]) -> RulesChanged:
        """Return the event for the change since `before`, the rules disabled then."""
        was, is_ = set(before), set(self.disabled)
        enabled, disabled = (was - is_) & self._rules.keys(), is_ - was
        return RulesChanged(
            digest=self._digest, enabled=tuple(sorted(enabled)), disabled=tuple(sorted(disabled))
        )

    def stamp(self, event: Event) -> Event:
        """Return the event with the disabled rules added to those that it names itself."""
        if not self.disabled:
            return event
        disabled = self.disabled
        if event.facts.disabled:
            disabled = tuple(dict.fromkeys((*event.facts.disabled, *disabled)))
        return replace(event, facts=replace(event.facts, disabled=disabled))

    def _update_disabled(self) -> None:
        on = {uid for uid, on in self._set_by_program.items() if on}
        off = (self._disabled_by_root | self._set_by_program.keys()) - on
        self.disabled = tuple(
            uid for uid in sorted(off) if uid in self._rules and self._rules[uid].is_disabled(off)
        )
