"""Records of the journal: decode rows, link records into a chain, store the texts of active rules.

Each record holds a digest that covers the record before it. The chain covers digests of payloads,
so payloads can be erased without breaking it. The text of each rule file is stored once.
"""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct

from bylaw.languages.base import FixedReason
from bylaw.model.decision import Decision
from bylaw.model.event import EffectDone, Event
from bylaw.store.paths import as_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bylaw.languages.base import Language, RuleFile
    from bylaw.model.procedure import Book
    from bylaw.model.rule import Rule
    from bylaw.model.vocabulary import Kind

GENESIS = bytes(32)
_ENCODER = msgspec.msgpack.Encoder()


class LoadedRules(Protocol):
    """What a record needs to know of a loaded rule file or folder."""

    @property
    def book(self) -> Book:
        """The rules."""

    @property
    def dialect(self) -> Language:
        """The language that they are written in."""

    @property
    def texts(self) -> Mapping[str, RuleFile]:
        """The files by path."""

    @property
    def stand_ins(self) -> Mapping[str, Rule]:
        """The rules in place of files that did not load, by path."""


class Header(Struct, frozen=True, array_like=True):
    """The fields that a link covers; the digests are those of the stored payload."""

    seq: int
    session: str
    at: int
    kind: str
    verdict: str
    event: bytes
    decision: bytes
    rules: bytes
    version: str
    redacted: bool


def digest(data: bytes) -> bytes:
    """Return the digest that a record holds for a payload."""
    return sha256(data).digest()


def link(previous: bytes, header: Header) -> bytes:
    """Return the digest of a record and of all records before it."""
    return sha256(previous + _ENCODER.encode(header)).digest()


_EVENT: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
_DECISION = msgspec.json.Decoder(Decision)
_COLUMNS = "seq, session, at, kind, verdict, event, decision, rules, version, redacted"
# The columns of `StoredRecord` and `Record`; a missing payload is null.
_HEADER = ", ".join(f"r.{name}" for name in _COLUMNS.split(", "))
_PARTS = f"{_HEADER}, p.event, p.decision FROM records r LEFT JOIN payloads p USING (seq)"
STORED_QUERY = f"SELECT {_PARTS}"
# The same, after the digest of the chain.
LINKED_QUERY = f"SELECT r.chain, {_PARTS}"


class RowSource(Protocol):
    """A database connection that returns rows."""

    def query(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        """Run a statement and return its rows."""


class Record(Struct, frozen=True):
    """A record with its payload, decoded."""

    header: Header
    event: Event
    decision: Decision


class MissingPayload(StrEnum):
    """Why a record has no payload."""

    ERASED = "erased"
    DAMAGED = "damaged"


class StoredRecord(Struct, frozen=True):
    """A record as it is stored: with its payload, or with the reason why it has none."""

    header: Header
    record: Record | None
    lost: MissingPayload | None = None


def read_stored_record(rows: RowSource, seq: int) -> StoredRecord | None:
    """Read one record, with or without payload; None if it does not exist."""
    found = rows.query(f"{STORED_QUERY} WHERE r.seq = ?", (seq,))
    return record_from_row(found[0]) if found else None


def read_effects(rows: RowSource, session: str, of: int) -> Iterator[EffectDone]:
    """Yield the results of the steps of one decision."""
    found = rows.query(
        "SELECT p.event FROM records r JOIN payloads p USING (seq)"
        " WHERE r.session = ? AND r.seq > ? AND r.kind = 'effect' ORDER BY r.seq",
        (session, of),
    )
    for (data,) in found:
        # Skip payloads that cannot be decoded; `bylaw verify` reports them.
        with suppress(msgspec.MsgspecError, UnicodeDecodeError):
            event = _EVENT.decode(data)
            if isinstance(event, EffectDone) and event.of == of:
                yield event


def record_from_row(row: tuple[Any, ...]) -> StoredRecord:
    """Decode a row of `STORED_QUERY`."""
    if row[-2] is None:
        return StoredRecord(_decode_header(row), None, MissingPayload.ERASED)
    try:
        return StoredRecord(_decode_header(row), _decode_record(row))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return StoredRecord(_decode_header(row), None, MissingPayload.DAMAGED)


def decode_payload(event: bytes, decision: bytes) -> tuple[Event, Decision]:
    """Decode a payload; MsgspecError or UnicodeDecodeError if it is damaged."""
    return _EVENT.decode(event), _DECISION.decode(decision)


def _decode_record(row: tuple[Any, ...]) -> Record:
    return Record(_decode_header(row), *decode_payload(row[-2], row[-1]))


def _decode_header(row: tuple[Any, ...]) -> Header:
    fields = (*row[:-3], bool(row[-3]))
    return Header(*fields)


def records_since(rows: RowSource, session: str, seq: int, kind: Kind) -> Iterator[Record]:
    """Yield the readable records of one kind that a session has after a record number."""
    found = rows.query(
        f"{STORED_QUERY} WHERE r.session = ? AND r.seq > ? AND r.kind = ? ORDER BY r.seq",
        (session, seq, kind),
    )
    for one in map(record_from_row, found):
        if one.record is not None:
            yield one.record


class LoadFailure(Struct, frozen=True):
    """Where and why a file did not load; another machine may not get this from the text alone."""

    line: int
    why: str


class RuleSource(Struct, frozen=True, omit_defaults=True):
    """A rule file by the digest of its text, and the files next to it that were read."""

    dialect: str
    path: str
    text: bytes
    beside: dict[str, bytes] = {}
    broken: LoadFailure | None = None


class ActiveRuleTexts(Struct, frozen=True):
    """The digest of the active rules, and the texts they were loaded from."""

    digest: bytes
    files: tuple[RuleSource, ...] = ()
    texts: tuple[tuple[bytes, str], ...] = ()

    def encode_files(self) -> bytes:
        """Encode the list of files as it is stored."""
        return msgspec.msgpack.encode(self.files)


# Of a record that Bylaw makes itself, without consulting a rule.
NO_RULES = ActiveRuleTexts(bytes(32))
_FILES = msgspec.msgpack.Decoder(tuple[RuleSource, ...])


def decode_files(data: bytes) -> tuple[RuleSource, ...]:
    """Decode what `encoded_files` wrote."""
    return _FILES.decode(data)


def rules_without_texts(books: Iterable[Book]) -> ActiveRuleTexts:
    """Return rules without their texts, for a program that made its books itself."""
    return ActiveRuleTexts(rules_digest(books))


def rules_with_texts(books: Sequence[LoadedRules]) -> ActiveRuleTexts:
    """Return rules with all texts that they were loaded from."""
    texts: dict[bytes, str] = {}
    files = [
        RuleSource(
            one.dialect.name,
            path,
            _add_text(texts, one.dialect.rule_text(file.source)),
            {name: _add_text(texts, text) for name, text in sorted(file.beside.texts.items())},
            _load_failure(one.stand_ins.get(path)),
        )
        for one in books
        for path, file in one.texts.items()
    ]
    in_force = tuple(one.book for one in books)
    return ActiveRuleTexts(rules_digest(in_force), tuple(files), tuple(texts.items()))


def _load_failure(stand_in: Rule | None) -> LoadFailure | None:
    if stand_in is None or stand_in.judgement is None:
        return None
    reason = stand_in.judgement.reason
    assert isinstance(reason, FixedReason)
    return LoadFailure(stand_in.origin.line, reason.text)


def _add_text(texts: dict[bytes, str], text: str) -> bytes:
    key = digest(as_bytes(text))
    texts[key] = text
    return key


def rules_digest(books: Iterable[Book]) -> bytes:
    """Return the digest of all active rules, as in records and `rules` events."""
    # A path may contain anything except NUL, so it comes last.
    lines = sorted(f"{book.digest} {book.dialect} {book.path}" for book in books)
    return sha256(as_bytes("\0".join(lines))).digest()
