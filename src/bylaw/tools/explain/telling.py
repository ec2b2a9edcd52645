"""Build the explanation of the decision of one journal record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bylaw.expr.explaining import explain_guard
from bylaw.expr.expression_guard import ExpressionGuard, OfConditions
from bylaw.model.decision import TraceLine, TraceResult
from bylaw.model.errors import RuleError
from bylaw.model.uid import id_of
from bylaw.runtime.journal.chain import digest
from bylaw.runtime.journal.errors import nothing_decided, unknown_record
from bylaw.runtime.journal.folding import folded_before
from bylaw.runtime.journal.reader import JournalReader
from bylaw.runtime.journal.reading import read_stored
from bylaw.runtime.journal.telling import QUIET, encode_decision, is_telling
from bylaw.runtime.named_rules import find_rule, named_rules
from bylaw.runtime.stored_rules import stored_files, stored_rules
from bylaw.tools.explain.circumstances import gates_of, limits_of, why_not_asked, why_not_live
from bylaw.tools.explain.steps import explained_steps
from bylaw.tools.explain.values import (
    AskedFact,
    ExplainedRule,
    Explanation,
    WrittenText,
)
from bylaw.tools.explain.witness import decide_again
from bylaw.tools.rules import written_lines
from bylaw.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.expr.explaining import Explained
    from bylaw.model.procedure import Book
    from bylaw.model.rule import Rule
    from bylaw.runtime.journal.reading import Record, Stored
    from bylaw.runtime.stored_rules import StoredFile
    from bylaw.tools.explain.witness import Answered, Asking, Testimony

MAX_RULES = 50  # in one explanation


def explain(path: str, seq: int | None, rule: str, tell: Callable[[str], None]) -> Explanation:
    """Explain the decision of a record, by default of the newest one that is not quiet.

    With the id or uid of a rule, explain why that rule fired or not. Raises JournalError or
    RuleError.
    """
    with JournalReader(path) as reader:
        stored = _find(reader, seq)
        if stored.record is None:
            return _without_payload(stored)
        return _Telling(reader, stored, stored.record, tell).explanation(rule)


def _find(reader: JournalReader, seq: int | None) -> Stored:
    newest = reader.newest
    if seq is None and newest:
        seq = _newest_telling(reader)
    found = read_stored(reader, seq) if seq is not None and newest else None
    if found is not None:
        return found
    raise nothing_decided() if seq is None else unknown_record(seq, newest)


def _newest_telling(reader: JournalReader) -> int | None:
    quiet = digest(encode_decision(QUIET))
    question = "SELECT seq FROM records WHERE decision <> ? ORDER BY seq DESC LIMIT 1"
    found = reader.query(question, (quiet,))
    return int(found[0][0]) if found else None


def _without_payload(stored: Stored) -> Explanation:
    note = f"the payload of this record was {stored.lost}: event, reasons and rules are unknown"
    return Explanation(stored, notes=(note,))


class _Telling:
    """Explains one record, with the rules and the session at that time."""

    def __init__(
        self, reader: JournalReader, stored: Stored, record: Record, tell: Callable[[str], None]
    ) -> None:
        self._reader = reader
        self._stored = stored
        self._record = record
        self._tell = tell
        self._books = stored_rules(reader, record.header.rules)
        self._files = stored_files(reader, record.header.rules) or []
        self._notes: list[str] = []

    def explanation(self, rule: str) -> Explanation:
        recorded = {line.uid: line for line in self._record.decision.trace}
        uids = [self._named(rule, recorded)] if rule else list(recorded)
        if len(uids) > MAX_RULES:
            self._notes.append(
                f"{len(uids) - MAX_RULES} more rules are not shown; select one with `--rule`"
            )
        rules = tuple(self._rules(uids[:MAX_RULES], recorded))
        self._tell_doubts()
        return Explanation(
            self._stored,
            tuple(one for one in self._record.decision.reasons if not rule or one.uid in uids),
            rules,
            tuple(
                one
                for one in explained_steps(self._reader, self._record)
                if not rule or one.plan.uid in uids
            ),
            tuple(self._notes),
        )

    def _named(self, name: str, recorded: dict[str, TraceLine]) -> str:
        """Return the uid of the rule with that id or uid."""
        named = [uid for uid in recorded if uid == name or id_of(uid) == name]
        if len(named) == 1:
            return named[0]
        if self._books is None:
            raise RuleError("the rules that were active at this record are not stored")
        return find_rule(named_rules(self._books), name).uid

    def _rules(
        self, uids: Sequence[str], recorded: dict[str, TraceLine]
    ) -> Iterator[ExplainedRule]:
        if self._books is None:
            self._notes.append(
                "the rules of this record are not stored, or this version of Bylaw cannot load "
                "them: their text and values are not available"
            )
            yield from (_bare(uid, recorded, self._record) for uid in uids)
            return
        testimony = self._testimony(self._books, uids)
        for uid in uids:
            yield self._rule(uid, recorded.get(uid), self._books, testimony)

    def _testimony(self, books: Sequence[Book], uids: Sequence[str]) -> Testimony:
        header = self._record.header
        session, lost = folded_before(self._reader, header.session, header.seq, self._tell)
        if lost:
            self._notes.append(
                f"payloads of earlier records of the session are gone ({lost}): values that "
                "depend on them may differ from the values at that time"
            )
        testimony = decide_again(books, session, self._record.event, uids)
        if testimony.missing:
            self._notes.append(
                "facts that a rule asked for are not in the record: the decision cannot be "
                "explained completely"
            )
        return testimony

    def _rule(
        self, uid: str, told: TraceLine | None, books: Sequence[Book], testimony: Testimony
    ) -> ExplainedRule:
        asking = testimony.askings.get(uid)
        line = self._line(told, testimony.trace.get(uid))
        rule = asking.rule if asking else _rule_of(uid, books)
        if rule is None:
            return _bare(uid, {} if line is None else {uid: line}, self._record)
        view = asking.view if asking else testimony.view
        return ExplainedRule(
            uid=uid,
            id=rule.id,
            file=rule.origin.file,
            line=rule.origin.line,
            result=None if line is None else line.result,
            detail=_detail(line, rule, self._record),
            text=self._text(uid, books),
            guard=_guard(asking),
            checks=_checks(asking),
            asked=tuple(map(self._asked, asking.answered)) if asking else (),
            match=asking.match.values if asking and asking.match else None,
            limits=tuple(limits_of(rule, view)),
            gates=tuple(gates_of(rule, view)),
        )

    def _line(self, told: TraceLine | None, again: TraceLine | None) -> TraceLine | None:
        """Return the recorded trace line, or one that records omit: condition false, not active."""
        if again is None:
            return told
        then = told or again
        if told is None and is_telling(again):
            then = TraceLine(uid=again.uid, result=TraceResult.GUARD_FALSE)
        if then.result is not again.result:
            self._notes.append(
                f"replay gives {again.result} for `{again.uid}`; the record says {then.result}"
            )
        return then

    def _text(self, uid: str, books: Sequence[Book]) -> WrittenText | None:
        """Return the text of a rule. A built-in rule has none."""
        rules = named_rules(books)
        if uid not in rules:
            return None
        path = rules[uid].origin.file
        source = next(one.file.source for one in self._files if one.file.path == path)
        line, lines = written_lines(rules[uid], source, rules.values())
        return WrittenText(path, line, lines)

    def _asked(self, answered: Answered) -> AskedFact:
        need = answered.need
        script, given = None, None
        if need.call is not None:
            script = _script(need.call.script, self._files)
            given = msgspec.json.decode(need.call.input)
        known = answered.found is not None
        found = msgspec.to_builtins(answered.found)
        return AskedFact(need.name.value, need.key, found, known, script, given)

    def _tell_doubts(self) -> None:
        header = self._record.header
        if header.redacted:
            self._notes.append(
                "this record was redacted: rules read texts that are not stored, so values shown "
                "here may differ from the values at that time"
            )
        if header.version != __version__:
            self._notes.append(
                f"Bylaw {header.version} decided this; {__version__} computed the values shown"
            )


def _rule_of(uid: str, books: Sequence[Book]) -> Rule | None:
    rules = (
        rule
        for book in books
        for group in book.groups
        for rule in (*group.rules, *group.procedure.closing)
    )
    return next((rule for rule in rules if rule.uid == uid), None)


def _bare(uid: str, recorded: dict[str, TraceLine], record: Record) -> ExplainedRule:
    """Build a rule from the record alone, if its text is not available."""
    line = recorded.get(uid)
    reason = next((one for one in record.decision.reasons if one.uid == uid), None)
    return ExplainedRule(
        uid=uid,
        id=id_of(uid),
        file=reason.file if reason else "",
        line=reason.line if reason else 0,
        result=None if line is None else line.result,
        detail="" if line is None else line.detail,
    )


def _detail(line: TraceLine | None, rule: Rule, record: Record) -> str:
    if line is None:
        return why_not_asked(rule, record.event)
    if line.result is TraceResult.NOT_LIVE:
        return why_not_live(rule, record.event)
    return line.detail


def _guard(asking: Asking | None) -> Explained | None:
    if asking is None or not isinstance(asking.rule.guard, ExpressionGuard):
        return None
    return explain_guard(asking.rule.guard, asking.view)


def _checks(asking: Asking | None) -> tuple[Explained, ...]:
    if asking is None or not isinstance(asking.rule.guard, OfConditions):
        return ()
    return tuple(explain_guard(one, asking.view) for one in asking.rule.guard.conditions)


def _script(text: str, files: Sequence[StoredFile]) -> WrittenText:
    """Return the text of a script, with the path that its rule file uses."""
    paths = (
        path for one in files for path, beside in one.file.beside.texts.items() if beside == text
    )
    return WrittenText(next(paths, ""), 1, tuple(text.rstrip("\n").split("\n")))
