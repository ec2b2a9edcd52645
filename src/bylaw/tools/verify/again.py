"""Replay recorded events with their recorded facts, under the rules at that time."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.model.decision import Decision
from bylaw.runtime.journal.sources import NO_RULES
from bylaw.runtime.journal.telling import encode_decision
from bylaw.runtime.stored_rules import stored_rules
from bylaw.tools.verify.report import Decisions, Flaw, Unchecked
from bylaw.version import __version__

if TYPE_CHECKING:
    from bylaw.model.session import Session
    from bylaw.runtime.journal.reader import JournalReader
    from bylaw.runtime.journal.reading import Record, Stored
    from bylaw.tools.verify.report import Report

MAX_RULE_SETS = 8  # in the cache


class Again:
    """Decides records again and compares the decisions byte for byte."""

    def __init__(self, reader: JournalReader, report: Report) -> None:
        self._reader = reader
        self._report = report
        self._decisions = report.decisions = Decisions()
        self._ready: OrderedDict[bytes, RuleSet | None] = OrderedDict()

    def check(self, one: Stored, written: bytes, state: Session | None) -> None:
        """Replay one record, given its stored decision and the session before it."""
        seq, rules = one.header.seq, None
        if one.record is None:
            self._decisions.leave_out(seq, Unchecked.ERASED)
        elif state is None:
            self._decisions.leave_out(seq, Unchecked.RESTS_ON_ERASED)
        elif one.header.redacted:
            self._decisions.leave_out(seq, Unchecked.REDACTED)
        elif (rules := self._rules(one.header.rules)) is None:
            self._decisions.leave_out(seq, Unchecked.NO_RULES)
        else:
            self._compare(one.record, written, decide(rules, state, one.record.event))

    def _compare(self, record: Record, written: bytes, found: object) -> None:
        if isinstance(found, Decision) and encode_decision(found) == written:
            self._decisions.same += 1
            return
        header = record.header
        now = f"`{found.verdict}`" if isinstance(found, Decision) else "open: facts are missing"
        text = f"replay differs: it was `{header.verdict}` and is {now}"
        if header.version != __version__:
            text += f"; Bylaw {header.version} decided it"
        self._report.find(Flaw.DECISION, text, header.seq, header.session)

    def _rules(self, digest: bytes) -> RuleSet | None:
        if digest not in self._ready:
            books = () if digest == NO_RULES.digest else stored_rules(self._reader, digest)
            self._ready[digest] = None if books is None else RuleSet(books)
            if len(self._ready) > MAX_RULE_SETS:
                self._ready.popitem(last=False)
        return self._ready[digest]
