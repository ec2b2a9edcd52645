"""Run all checks of one journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.codes.journal import JOURNAL_CORRUPT
from bylaw.runtime.journal.chain import digest
from bylaw.runtime.journal.errors import JournalError
from bylaw.runtime.journal.opening import anchor_of
from bylaw.runtime.journal.reader import JournalReader
from bylaw.runtime.journal.sources import NO_RULES
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.root import find_root
from bylaw.tools.verify.again import Again
from bylaw.tools.verify.links import check_links
from bylaw.tools.verify.report import AnchorState, Flaw, Report
from bylaw.tools.verify.states import check_states

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.runtime.journal.anchor import Anchor


def verify(path: str, *, decisions: bool, tell: Callable[[str], None]) -> Report:
    """Check a journal as it is now, with `decisions` also replay it. Raises JournalError."""
    report = Report(path)
    anchor = anchor_of(find_root(), path)
    # Read the anchor first: it is never ahead of the journal.
    noted = None if anchor is None else anchor.read()
    try:
        with JournalReader(path) as reader:
            reader.query("BEGIN")
            if reader.newest:
                _check(reader, report, tell, decisions=decisions)
            if anchor is not None and noted is not None:
                _check_head(reader, report, anchor, noted)
    except JournalError as problem:
        if problem.code != JOURNAL_CORRUPT.name:
            raise
        report.find(Flaw.FILE, problem.message)
    return report


def _check(
    reader: JournalReader, report: Report, tell: Callable[[str], None], *, decisions: bool
) -> None:
    tell("checking the file")
    damages = [words for (words,) in reader.query("PRAGMA integrity_check") if words != "ok"]
    for words in damages:
        report.find(Flaw.FILE, f"the file is damaged: {words}")
    if damages:
        return  # further findings would only follow from the damage
    check_links(reader, report, tell)
    _check_texts(reader, report, "texts", Flaw.SESSION)
    _check_texts(reader, report, "sources", Flaw.RULES)
    _check_rules(reader, report)
    check_states(reader, report, Again(reader, report) if decisions else None, tell)


def _check_rules(reader: JournalReader, report: Report) -> None:
    """Check that the rules of each record are stored."""
    missing = reader.query(
        "SELECT min(seq), rules FROM records"
        " WHERE rules NOT IN (SELECT digest FROM rule_sets) GROUP BY rules ORDER BY 1"
    )
    for seq, rules in missing:
        if rules != NO_RULES.digest:
            report.find(Flaw.RULES, f"the rules of record {seq} are no longer stored")


def _check_texts(reader: JournalReader, report: Report, table: str, flaw: Flaw) -> None:
    for key, text in reader.each(f"SELECT digest, text FROM {table}"):  # noqa: S608 - constants
        if digest(as_bytes(text)) != key:
            report.find(flaw, f"the text stored as {key.hex()[:12]} does not match its digest")


def _check_head(
    reader: JournalReader, report: Report, anchor: Anchor, noted: tuple[int, bytes]
) -> None:
    seq, chain = noted
    newest = reader.newest
    found = reader.query("SELECT chain FROM records WHERE seq = ?", (seq,)) if newest else []
    report.anchor = AnchorState(anchor.path, seq, fits=found == [(chain,)])
    if report.anchor.fits:
        return
    way_out = f"if you know the reason, remove `{anchor.path}`"
    if seq > newest:
        text = f"record {seq} was written, but the journal ends at {newest}: its end was cut off,"
        report.find(Flaw.CUT, f"{text} or lost in a power failure; {way_out}")
    else:
        text = f"record {seq} is not the one that was written: the journal was replaced"
        report.find(Flaw.REPLACED, f"{text}; {way_out}", seq)
