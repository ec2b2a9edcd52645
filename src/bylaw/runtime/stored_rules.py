"""Rebuild the books of a recorded rules digest from the texts that the journal keeps.

No rule file is read, so an old decision is explained and replayed with its own rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from bylaw.dialects import dialect_named
from bylaw.dialects.base import BesideError, RuleFile, stand_in_at
from bylaw.model.diagnostic import Severity
from bylaw.model.errors import BylawError
from bylaw.model.source import SourceFile
from bylaw.runtime.journal.sources import decoded_files, digest_of
from bylaw.runtime.loading import bind, load_files, text_digest, without

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from bylaw.dialects.base import Dialect
    from bylaw.model.procedure import Book
    from bylaw.runtime.journal.reading import Rows
    from bylaw.runtime.journal.sources import SourceOf


class StoredBeside(Struct, frozen=True):
    """The files next to a rule file, as they were read when the rules were loaded."""

    texts: Mapping[str, str]

    def read(self, path: str) -> str:
        """Return the text of a file; BesideError if it was not read then."""
        if path not in self.texts:
            raise BesideError(f"`{path}` is not in the journal")
        return self.texts[path]


class StoredFile(Struct, frozen=True):
    """A rule file with its recorded text, and its entry in the journal."""

    stored: SourceOf
    file: RuleFile


def stored_rules(rows: Rows, digest: bytes) -> tuple[Book, ...] | None:
    """Return the books of a digest; None if their texts are missing or give other rules today."""
    files = stored_files(rows, digest)
    if files is None:
        return None
    try:
        books = tuple(_book(*one) for one in _by_book(files))
    except BylawError:  # the language is not installed, or no longer accepts the texts
        return None
    return books if digest_of(books) == digest else None


def stored_files(rows: Rows, digest: bytes) -> list[StoredFile] | None:
    """Return the rule files of a digest; None if they are not stored."""
    found = rows.query("SELECT files FROM rule_sets WHERE digest = ?", (digest,))
    try:
        return [_file(rows, one) for one in decoded_files(found[0][0])] if found else None
    except (LookupError, msgspec.MsgspecError):
        return None


def _file(rows: Rows, stored: SourceOf) -> StoredFile:
    text = _text(rows, stored.text)
    beside = {path: _text(rows, key) for path, key in stored.beside.items()}
    source = SourceFile(stored.path, text)
    return StoredFile(stored, RuleFile(source, text_digest(text), StoredBeside(beside)))


def _text(rows: Rows, key: bytes) -> str:
    found = rows.query("SELECT text FROM sources WHERE digest = ?", (key,))
    return str(found[0][0])


def _by_book(files: Sequence[StoredFile]) -> Iterator[tuple[Dialect, list[StoredFile]]]:
    """Yield the files of each book, in the order in which they were stored."""
    by_name: dict[str, list[StoredFile]] = {}
    for one in files:
        by_name.setdefault(one.stored.dialect, []).append(one)
    for name, own in by_name.items():
        dialect = dialect_named(name)
        if dialect is None:
            raise BylawError(f"the language `{name}` is not installed")
        for book in [[one] for one in own] if dialect.one_book_per_file else [own]:
            yield dialect, book


def _book(dialect: Dialect, own: Sequence[StoredFile]) -> Book:
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
    return bind(dialect, (), files, without(loaded.groups, stand_ins), stand_ins).book
