"""Rebuild each session from its records and compare it with the stored session."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import msgspec

from bylaw.model.fold import fold
from bylaw.model.session import Session, encode_session
from bylaw.runtime.journal.reading import STORED, Stored, stored
from bylaw.runtime.journal.snapshot import unpacked
from bylaw.tools.verify.links import EVERY
from bylaw.tools.verify.report import Flaw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bylaw.runtime.journal.reader import JournalReader
    from bylaw.tools.verify.again import Again
    from bylaw.tools.verify.report import Report

_BY_SESSION = f"{STORED} ORDER BY r.session, r.seq"
_STRAY = "SELECT id FROM sessions WHERE id NOT IN (SELECT session FROM records) ORDER BY id"


def check_states(
    reader: JournalReader, report: Report, again: Again | None, tell: Callable[[str], None]
) -> None:
    """Rebuild each session. With `again`, also replay each of its events."""
    done = 0
    for name, rows in groupby(reader.each(_BY_SESSION), key=lambda row: row[1]):
        report.sessions += 1
        folding = _Folding(reader, report, name)
        for row in rows:
            if done % EVERY == 0:
                tell(f"rebuilding sessions: record {done:,} of {report.records:,}")
            done += 1
            folding.step(stored(row), row[-1], again)
        folding.end()
    if done != report.records:
        report.find(Flaw.FILE, f"{report.records:,} records, but {done:,} records of sessions")
    for (name,) in reader.each(_STRAY):
        report.find(Flaw.SESSION, "it is stored, but has no records", session=name)


class _Folding:
    """Rebuilds one session, record by record."""

    def __init__(self, reader: JournalReader, report: Report, name: str) -> None:
        self._reader = reader
        self._report = report
        self._name = name
        self._state: Session | None = Session(id=name)  # None: it depends on an erased payload
        found = reader.query("SELECT seq, core FROM sessions WHERE id = ?", (name,))
        self._snapshot: tuple[int, bytes] | None = found[0] if found else None
        if not found:
            self._find("it is not stored")

    def step(self, one: Stored, decision: bytes, again: Again | None) -> None:
        if self._snapshot is not None and one.header.seq > self._snapshot[0]:
            self.end()
        if again is not None:
            again.check(one, decision, self._state)
        if one.record is None:
            self._state = None
        elif self._state is not None:
            self._state = fold(self._state, one.record.event, one.record.decision)

    def end(self) -> None:
        """Compare with the stored session, which ends here."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is None or self._state is None:
            return
        try:
            stored = unpacked(snapshot[1], self._texts)
        except (msgspec.MsgspecError, ValueError, TypeError, KeyError):
            self._find("its stored state cannot be read")
            return
        if encode_session(stored) == encode_session(self._state):
            self._report.folded += 1
        else:
            parts = ", ".join(_different(stored, self._state))
            self._find(f"it does not match its records up to {snapshot[0]}: {parts} differs")

    def _texts(self, wanted: Iterable[bytes]) -> Mapping[bytes, str]:
        question = "SELECT digest, text FROM texts WHERE digest = ?"
        return {key: text for one in wanted for key, text in self._reader.query(question, (one,))}

    def _find(self, text: str) -> None:
        self._report.find(Flaw.SESSION, text, session=self._name)


def _different(stored: Session, folded: Session) -> list[str]:
    names = [name for name in stored.__struct_fields__ if _differ(stored, folded, name)]
    return [f"`{name}`" for name in names] or ["the order of entries"]


def _differ(stored: Session, folded: Session, name: str) -> bool:
    return bool(getattr(stored, name) != getattr(folded, name))
