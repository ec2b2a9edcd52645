"""What the journal keeps of the active rules: their digest and their texts, each text once."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from bylaw.dialects.base import FixedReason
from bylaw.runtime.journal.chain import digest
from bylaw.runtime.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bylaw.model.procedure import Book
    from bylaw.model.rule import Rule
    from bylaw.runtime.loading import LoadedBook


class Broken(Struct, frozen=True):
    """Where and why a file did not load; another machine may not get this from the text alone."""

    line: int
    why: str


class SourceOf(Struct, frozen=True, omit_defaults=True):
    """A rule file by the digest of its text, and the files next to it that were read."""

    dialect: str
    path: str
    text: bytes
    beside: dict[str, bytes] = {}
    broken: Broken | None = None


class RulesInForce(Struct, frozen=True):
    """The digest of the active rules, and the texts they were loaded from."""

    digest: bytes
    files: tuple[SourceOf, ...] = ()
    texts: tuple[tuple[bytes, str], ...] = ()

    def encoded_files(self) -> bytes:
        """Encode the list of files as it is stored."""
        return msgspec.msgpack.encode(self.files)


# Of a record that Bylaw makes itself, without consulting a rule.
NO_RULES = RulesInForce(bytes(32))
_FILES = msgspec.msgpack.Decoder(tuple[SourceOf, ...])


def decoded_files(data: bytes) -> tuple[SourceOf, ...]:
    """Decode what `encoded_files` wrote."""
    return _FILES.decode(data)


def rules_of(books: Iterable[Book]) -> RulesInForce:
    """Return rules without their texts, for a program that made its books itself."""
    return RulesInForce(digest_of(books))


def rules_with_texts(books: Sequence[LoadedBook]) -> RulesInForce:
    """Return rules with all texts that they were loaded from."""
    texts: dict[bytes, str] = {}
    files = [
        SourceOf(
            one.dialect.name,
            path,
            _put(texts, one.dialect.rule_text(file.source)),
            {name: _put(texts, text) for name, text in sorted(file.beside.texts.items())},
            _broken(one.stand_ins.get(path)),
        )
        for one in books
        for path, file in one.texts.items()
    ]
    in_force = tuple(one.book for one in books)
    return RulesInForce(digest_of(in_force), tuple(files), tuple(texts.items()))


def _broken(stand_in: Rule | None) -> Broken | None:
    if stand_in is None or stand_in.judgement is None:
        return None
    reason = stand_in.judgement.reason
    assert isinstance(reason, FixedReason)
    return Broken(stand_in.origin.line, reason.text)


def _put(texts: dict[bytes, str], text: str) -> bytes:
    key = digest(as_bytes(text))
    texts[key] = text
    return key


def digest_of(books: Iterable[Book]) -> bytes:
    """Return the digest of all active rules, as in records and `rules` events."""
    # A path may contain anything except NUL, so it comes last.
    lines = sorted(f"{book.digest} {book.dialect} {book.path}" for book in books)
    return sha256(as_bytes("\0".join(lines))).digest()
