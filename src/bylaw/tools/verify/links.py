"""Check all records in order: gaps, the hash chain, and the digests of payloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bylaw.runtime.journal.chain import GENESIS, Header, digest, link
from bylaw.runtime.journal.purge import purge_in
from bylaw.runtime.journal.reading import LINKED, STORED, Lost, stored
from bylaw.runtime.journal.sources import NO_RULES
from bylaw.tools.verify.report import Flaw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.runtime.journal.purge import Purge
    from bylaw.runtime.journal.reader import JournalReader
    from bylaw.runtime.journal.reading import Record, Stored
    from bylaw.tools.verify.report import Report

EVERY = 1_000  # records between two progress messages


def check_links(reader: JournalReader, report: Report, tell: Callable[[str], None]) -> None:
    """Check the chain from its first record on."""
    walk = _Walk(report, list(_purges(reader)))
    newest = reader.newest
    for chain, *row in reader.each(f"{LINKED} ORDER BY r.seq"):
        if report.records % EVERY == 0:
            tell(f"checking record {report.records:,} of {newest:,}")
        walk.step(stored(tuple(row)), chain, digest(row[-2] or b""), digest(row[-1] or b""))
    stray = "SELECT seq FROM payloads WHERE seq NOT IN (SELECT seq FROM records) ORDER BY seq"
    for (seq,) in reader.each(stray):
        report.find(Flaw.PAYLOAD, "payload without a record", seq)


def _purges(reader: JournalReader) -> Iterator[tuple[int, Purge]]:
    """Yield the purges in the journal, with the numbers of their records."""
    for row in reader.each(f"{STORED} WHERE r.rules = ? ORDER BY r.seq", (NO_RULES.digest,)):
        record = stored(row).record
        purge = None if record is None else _purge(record)
        if purge is not None:
            yield row[0], purge


def _purge(record: Record) -> Purge | None:
    try:
        return purge_in(record.header, record.event)
    except msgspec.MsgspecError:
        return None


class _Walk:
    def __init__(self, report: Report, purges: list[tuple[int, Purge]]) -> None:
        self._report = report
        self._purges = purges

    def step(self, one: Stored, chain: bytes, event: bytes, decision: bytes) -> None:
        """Check one record: its link, and the digests of its payload."""
        self._report.records += 1
        self._check_link(one.header, chain)
        if one.lost is Lost.ERASED:
            self._check_erased(one.header)
        else:
            self._check_payload(one, (event, decision))
        self._report.head = one.header.seq, chain

    def _check_link(self, header: Header, chain: bytes) -> None:
        seq, before = self._report.head or (0, GENESIS)
        if header.seq != seq + 1:
            gone = f"{seq + 1}" if header.seq == seq + 2 else f"{seq + 1} to {header.seq - 1}"
            self._find(Flaw.GAP, f"missing before it: {gone}", header)
        elif link(before, header) != chain:
            self._find(Flaw.CHAIN, "it does not match the hash chain", header)

    def _check_erased(self, header: Header) -> None:
        self._report.erased.add(header.seq)
        if not any(seq > header.seq and purge.covers(header) for seq, purge in self._purges):
            self._find(Flaw.MISSING, "its payload is gone, but no purge covers it", header)

    def _check_payload(self, one: Stored, digests: tuple[bytes, bytes]) -> None:
        header = one.header
        if digests != (header.event, header.decision):
            self._find(Flaw.PAYLOAD, "its payload does not match the digest of the record", header)
        elif one.record is None:
            self._find(Flaw.PAYLOAD, "its payload cannot be read", header)
        elif not _agree(one.record):
            self._find(Flaw.PAYLOAD, "its payload belongs to another event", header)

    def _find(self, flaw: Flaw, text: str, header: Header) -> None:
        self._report.find(flaw, text, header.seq, header.session)


def _agree(record: Record) -> bool:
    header, event = record.header, record.event
    told = (event.seq, event.session, event.at, event.kind.value, record.decision.verdict.value)
    return told == (header.seq, header.session, header.at, header.kind, header.verdict)
