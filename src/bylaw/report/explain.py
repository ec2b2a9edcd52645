"""Explain the decision of a journal record: the work behind `bylaw explain`.

The explanation uses the rules and the session at the time of the record, and notes what is not
stored any more. Outcomes of steps come from later effect records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bylaw.engine.plan import DueStep, StepOutcome, next_step
from bylaw.expr.evaluation_trace import explain_guard
from bylaw.expr.views import ExpressionGuard, HasConditions
from bylaw.model.decision import TraceLine, TraceResult, immediate_steps
from bylaw.model.errors import RuleError
from bylaw.model.event import EffectDone
from bylaw.model.rule import id_of
from bylaw.model.vocabulary import EffectStatus, Kind
from bylaw.report.explain_rules import (
    ExplainedRule,
    ExplainedStep,
    Explanation,
    FactRead,
    NumberedText,
    decide_again,
    gate_states,
    limit_states,
    reason_inactive,
    reason_not_evaluated,
)
from bylaw.report.log import open_plan_reason
from bylaw.report.rules import rule_lines
from bylaw.runtime.rules_in_force import find_rule, named_rules, stored_files, stored_rules
from bylaw.store.journal.errors import no_decisions, unknown_record
from bylaw.store.journal.journal import QUIET, encode_decision, is_stored_line
from bylaw.store.journal.records import digest, read_stored_record
from bylaw.store.journal.search import JournalReader, RecordFilter, RecordSearch, session_before
from bylaw.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bylaw.expr.evaluation_trace import ExpressionTrace
    from bylaw.model.procedure import Book
    from bylaw.model.rule import Rule
    from bylaw.report.explain_rules import FactAnswer, GuardQuestion, GuardTrace
    from bylaw.runtime.rules_in_force import StoredFile
    from bylaw.store.journal.records import Record, StoredRecord

AT_ONCE = "at once"
NOT_PERFORMED = "not performed"


def explain_steps(reader: JournalReader, record: Record) -> Iterator[ExplainedStep]:
    """Yield every step of a decision in order, even steps that never started.

    `on_error` steps are included if their plan failed.
    """
    decision = record.decision
    if not decision.plans:
        return
    outcomes, now = _read_effects(reader, record), immediate_steps(decision.plans)
    otherwise = open_plan_reason(reader, record.header.seq) or NOT_PERFORMED
    for place, (plan, steps, on_error) in enumerate(decision.numbered_plans()):
        failed = plan.broken or any(_has_failed(outcomes, number) for number, _ in steps)
        for at, (number, step) in enumerate((*steps, *(on_error if failed else ()))):
            done = outcomes.get(number)
            if done is not None:
                yield ExplainedStep(number, plan, step, done.status, done.result, done.ms)
            else:
                status = AT_ONCE if (place, at) in now else otherwise
                yield ExplainedStep(number, plan, step, status)


def _has_failed(outcomes: dict[int, EffectDone], number: int) -> bool:
    done = outcomes.get(number)
    return done is not None and done.status is not EffectStatus.OK


def _read_effects(reader: JournalReader, record: Record) -> dict[int, EffectDone]:
    """Read the effects of the decision, up to the effect of its last step."""
    header, found = record.header, dict[int, EffectDone]()
    wanted = RecordFilter(session=header.session, kinds=(Kind.EFFECT,))
    later = RecordSearch(reader, wanted).records(header.seq)
    while isinstance(next_step(record.decision, _step_outcomes(found)), DueStep):
        effect = next(later, None)
        if effect is None:
            break
        event = None if effect.record is None else effect.record.event
        if isinstance(event, EffectDone) and event.of == header.seq:
            found[event.step] = event
    return found


def _step_outcomes(effects: dict[int, EffectDone]) -> dict[int, StepOutcome]:
    return {number: StepOutcome(one.status, one.result) for number, one in effects.items()}


MAX_RULES = 50  # in one explanation


def explain(path: str, seq: int | None, rule: str, tell: Callable[[str], None]) -> Explanation:
    """Explain the decision of a record, by default of the newest one that is not quiet.

    With the id or uid of a rule, explain why that rule fired or not. Raises JournalError or
    RuleError.
    """
    with JournalReader(path) as reader:
        stored = _find_record(reader, seq)
        if stored.record is None:
            return _without_payload(stored)
        return _ExplanationBuilder(reader, stored, stored.record, tell).build(rule)


def _find_record(reader: JournalReader, seq: int | None) -> StoredRecord:
    newest = reader.newest
    if seq is None and newest:
        seq = _newest_notable(reader)
    found = read_stored_record(reader, seq) if seq is not None and newest else None
    if found is not None:
        return found
    raise no_decisions() if seq is None else unknown_record(seq, newest)


def _newest_notable(reader: JournalReader) -> int | None:
    quiet = digest(encode_decision(QUIET))
    question = "SELECT seq FROM records WHERE decision <> ? ORDER BY seq DESC LIMIT 1"
    found = reader.query(question, (quiet,))
    return int(found[0][0]) if found else None


def _without_payload(stored: StoredRecord) -> Explanation:
    note = f"the payload of this record was {stored.lost}: event, reasons and rules are unknown"
    return Explanation(stored, notes=(note,))


class _ExplanationBuilder:
    """Explains one record, with the rules and the session at that time."""

    def __init__(
        self,
        reader: JournalReader,
        stored: StoredRecord,
        record: Record,
        tell: Callable[[str], None],
    ) -> None:
        self._reader = reader
        self._stored = stored
        self._record = record
        self._tell = tell
        self._books = stored_rules(reader, record.header.rules)
        self._files = stored_files(reader, record.header.rules) or []
        self._notes: list[str] = []

    def build(self, rule: str) -> Explanation:
        recorded = {line.uid: line for line in self._record.decision.trace}
        uids = [self._find_uid(rule, recorded)] if rule else list(recorded)
        if len(uids) > MAX_RULES:
            self._notes.append(
                f"{len(uids) - MAX_RULES} more rules are not shown; select one with `--rule`"
            )
        rules = tuple(self._explain_rules(uids[:MAX_RULES], recorded))
        self._add_warnings()
        return Explanation(
            self._stored,
            tuple(one for one in self._record.decision.reasons if not rule or one.uid in uids),
            rules,
            tuple(
                one
                for one in explain_steps(self._reader, self._record)
                if not rule or one.plan.uid in uids
            ),
            tuple(self._notes),
        )

    def _find_uid(self, name: str, recorded: dict[str, TraceLine]) -> str:
        """Return the uid of the rule with that id or uid."""
        named = [uid for uid in recorded if uid == name or id_of(uid) == name]
        if len(named) == 1:
            return named[0]
        if self._books is None:
            raise RuleError("the rules that were active at this record are not stored")
        return find_rule(named_rules(self._books), name).uid

    def _explain_rules(
        self, uids: Sequence[str], recorded: dict[str, TraceLine]
    ) -> Iterator[ExplainedRule]:
        if self._books is None:
            self._notes.append(
                "the rules of this record are not stored, or this version of Bylaw cannot load "
                "them: their text and values are not available"
            )
            yield from (_rule_without_text(uid, recorded, self._record) for uid in uids)
            return
        testimony = self._guard_trace(self._books, uids)
        for uid in uids:
            yield self._explain_rule(uid, recorded.get(uid), self._books, testimony)

    def _guard_trace(self, books: Sequence[Book], uids: Sequence[str]) -> GuardTrace:
        header = self._record.header
        session, lost = session_before(self._reader, header.session, header.seq, self._tell)
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

    def _explain_rule(
        self, uid: str, told: TraceLine | None, books: Sequence[Book], testimony: GuardTrace
    ) -> ExplainedRule:
        asking = testimony.questions.get(uid)
        line = self._trace_line(told, testimony.trace.get(uid))
        rule = asking.rule if asking else _find_rule(uid, books)
        if rule is None:
            return _rule_without_text(uid, {} if line is None else {uid: line}, self._record)
        view = asking.view if asking else testimony.view
        return ExplainedRule(
            uid=uid,
            id=rule.id,
            file=rule.origin.file,
            line=rule.origin.line,
            result=None if line is None else line.result,
            detail=_detail(line, rule, self._record),
            text=self._rule_text(uid, books),
            guard=_explain_guard(asking),
            checks=_explain_checks(asking),
            asked=tuple(map(self._fact_read, asking.answered)) if asking else (),
            match=asking.match.values if asking and asking.match else None,
            limits=tuple(limit_states(rule, view)),
            gates=tuple(gate_states(rule, view)),
        )

    def _trace_line(self, told: TraceLine | None, again: TraceLine | None) -> TraceLine | None:
        """Return the recorded trace line, or one that records omit: condition false, not active."""
        if again is None:
            return told
        then = told or again
        if told is None and is_stored_line(again):
            then = TraceLine(uid=again.uid, result=TraceResult.GUARD_FALSE)
        if then.result is not again.result:
            self._notes.append(
                f"replay gives {again.result} for `{again.uid}`; the record says {then.result}"
            )
        return then

    def _rule_text(self, uid: str, books: Sequence[Book]) -> NumberedText | None:
        """Return the text of a rule. A built-in rule has none."""
        rules = named_rules(books)
        if uid not in rules:
            return None
        path = rules[uid].origin.file
        source = next(one.file.source for one in self._files if one.file.path == path)
        line, lines = rule_lines(rules[uid], source, rules.values())
        return NumberedText(path, line, lines)

    def _fact_read(self, answered: FactAnswer) -> FactRead:
        need = answered.need
        script, given = None, None
        if need.call is not None:
            script = _script(need.call.script, self._files)
            given = msgspec.json.decode(need.call.input)
        known = answered.found is not None
        found = msgspec.to_builtins(answered.found)
        return FactRead(need.name.value, need.key, found, known, script, given)

    def _add_warnings(self) -> None:
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


def _find_rule(uid: str, books: Sequence[Book]) -> Rule | None:
    rules = (
        rule
        for book in books
        for group in book.groups
        for rule in (*group.rules, *group.procedure.closing)
    )
    return next((rule for rule in rules if rule.uid == uid), None)


def _rule_without_text(uid: str, recorded: dict[str, TraceLine], record: Record) -> ExplainedRule:
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
        return reason_not_evaluated(rule, record.event)
    if line.result is TraceResult.NOT_LIVE:
        return reason_inactive(rule, record.event)
    return line.detail


def _explain_guard(asking: GuardQuestion | None) -> ExpressionTrace | None:
    if asking is None or not isinstance(asking.rule.guard, ExpressionGuard):
        return None
    return explain_guard(asking.rule.guard, asking.view)


def _explain_checks(asking: GuardQuestion | None) -> tuple[ExpressionTrace, ...]:
    if asking is None or not isinstance(asking.rule.guard, HasConditions):
        return ()
    return tuple(explain_guard(one, asking.view) for one in asking.rule.guard.conditions)


def _script(text: str, files: Sequence[StoredFile]) -> NumberedText:
    """Return the text of a script, with the path that its rule file uses."""
    paths = (
        path for one in files for path, beside in one.file.beside.texts.items() if beside == text
    )
    return NumberedText(next(paths, ""), 1, tuple(text.rstrip("\n").split("\n")))
