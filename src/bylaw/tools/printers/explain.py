"""Print an explanation as text: the event, the reasons, each rule, the steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.expr.explaining import State
from bylaw.model.decision import TraceResult
from bylaw.model.event import EffectDone
from bylaw.model.verdict import Verdict
from bylaw.model.visible import columns
from bylaw.tools.printers.events import event_words, step_words
from bylaw.tools.printers.guard_parts import drawn
from bylaw.tools.printers.moments import local_time
from bylaw.tools.printers.paint import Paint, Style
from bylaw.tools.printers.table import cut
from bylaw.tools.printers.wording import in_short, number_of, shown, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.expr.explaining import Explained
    from bylaw.tools.explain.values import (
        AskedFact,
        ExplainedRule,
        ExplainedStep,
        Explanation,
        LimitFound,
        WrittenText,
    )

LEAST = 60  # columns
MAX_LINES = 200  # of a rule or script
MAX_TEXT_LINES = 20  # of a reason or note
MAX_VALUE = 2_000  # characters of what a script read
_INDENT = "  "

_RESULTS = {
    TraceResult.FIRED: ("fired", Style.STRONG),
    TraceResult.GUARD_FALSE: ("did not fire: its condition is false", Style.PLAIN),
    TraceResult.GUARD_ERROR: ("its condition failed", Style.BAD),
    TraceResult.LIMITED: ("did not fire because of a limit", Style.WARNING),
    TraceResult.GATED: ("did not fire because of a closed gate", Style.WARNING),
    TraceResult.BUDGET: ("matched, but its steps exceed the budget", Style.WARNING),
    TraceResult.SUPPRESSED: ("matched, but did nothing", Style.WARNING),
    TraceResult.NOT_LIVE: ("is not active", Style.PLAIN),
}
_NOT_ASKED = ("was not evaluated", Style.PLAIN)
_VERDICTS = {
    Verdict.ALLOW: Style.GOOD,
    Verdict.WARN: Style.WARNING,
    Verdict.ASK: Style.WARNING,
    Verdict.DENY: Style.BAD,
    Verdict.HALT: Style.BAD,
}
_STATES = {State.VALUE: Style.STRONG, State.FAILED: Style.BAD, State.NOT_EVALUATED: Style.FAINT}


def render(explanation: Explanation, *, limit: int, color: bool = False) -> str:
    """Print all parts, separated by blank lines."""
    text = _Text(max(limit, LEAST), Paint(color))
    parts = [list(part) for part in text.parts(explanation)]
    return "\n".join("".join(f"{line}\n" for line in part) for part in parts if part)


class _Text:
    """Builds paragraphs of lines that fit a width."""

    def __init__(self, limit: int, paint: Paint) -> None:
        self._limit = limit
        self._paint = paint

    def parts(self, explanation: Explanation) -> Iterator[Iterator[str]]:
        yield self._head(explanation)
        yield self._verdict(explanation)
        for rule in explanation.rules:
            yield from self._rule(rule)
        yield self._steps(explanation)
        yield self._notes(explanation)

    def _head(self, explanation: Explanation) -> Iterator[str]:
        header, record = explanation.stored.header, explanation.stored.record
        title = f"record {header.seq} of session {shown(header.session)}"
        yield f"{self._paint(Style.STRONG, title)}, {local_time(header.at)}"
        words = "" if record is None else event_words(record.event)
        yield from self._wrapped(f"{shown(header.kind)} {shown(words)}".rstrip(), 1)
        if record is not None and record.event.cause:
            yield from self._wrapped(f"caused by {shown(', '.join(record.event.cause))}", 1)
        if record is not None and isinstance(record.event, EffectDone):
            yield f"{_INDENT}outcome of step {record.event.step} of record {record.event.of}"

    def _verdict(self, explanation: Explanation) -> Iterator[str]:
        record = explanation.stored.record
        if record is None:
            yield f"verdict {shown(explanation.stored.header.verdict)}"
            return
        decision = record.decision
        yield f"verdict {self._paint(_VERDICTS[decision.verdict], decision.verdict.value)}"
        for reason in explanation.reasons:
            place = f" ({reason.file}:{reason.line})" if reason.file else ""
            yield from self._wrapped(shown(f"{reason.verdict.value} {reason.rule}{place}:"), 1)
            for line in reason.text.split("\n")[:MAX_TEXT_LINES]:
                yield from self._wrapped(shown(line), 2)
        if not decision.trace:
            yield f"{_INDENT}no rule fired, failed, or was stopped by a limit or gate"

    def _rule(self, rule: ExplainedRule) -> Iterator[Iterator[str]]:
        yield self._rule_head(rule)
        if rule.text is not None:
            yield self._numbered(rule.text)
        yield self._limits(rule)
        yield self._gates(rule)
        for guard in (rule.guard, *rule.checks):
            if guard is not None:
                yield self._guard(guard, rule.detail)
        for fact in rule.asked:
            yield from self._asked(fact)
        if rule.match:
            yield self._match(rule)

    def _rule_head(self, rule: ExplainedRule) -> Iterator[str]:
        words, style = _NOT_ASKED if rule.result is None else _RESULTS[rule.result]
        place = f" ({shown(rule.file)}:{rule.line})" if rule.file else ""
        yield f"rule {self._paint(Style.STRONG, shown(rule.id))}{place}"
        told = f": {rule.detail}" if rule.detail else ""
        first, *rest = self._wrapped(shown(words + told), 1)
        yield first.replace(words, self._paint(style, words), 1)
        yield from rest

    def _numbered(self, text: WrittenText) -> Iterator[str]:
        lines = text.lines[:MAX_LINES]
        gutter = len(str(text.line + len(lines) - 1))
        for number, line in enumerate(lines, text.line):
            margin = self._paint(Style.FAINT, f"{number:>{gutter}} |")
            yield f" {margin} {columns(line)[0]}".rstrip()
        if len(text.lines) > MAX_LINES:
            yield f" {'':{gutter}} | … {number_of(len(text.lines) - MAX_LINES, 'more line')}"

    def _limits(self, rule: ExplainedRule) -> Iterator[str]:
        for limit in rule.limits:
            held = self._paint(Style.WARNING, "applies") if limit.closed else "does not apply"
            yield f"{_INDENT}{_limit_words(limit)}: {held}"

    def _gates(self, rule: ExplainedRule) -> Iterator[str]:
        for gate in rule.gates:
            state = "open" if gate.open else self._paint(Style.WARNING, "closed")
            words = shown(f"gate {gate.name}: needs {gate.wants}, found {gate.found}")
            yield f"{_INDENT}{cut(words, self._limit - 10)}: {state}"

    def _guard(self, guard: Explained, told: str) -> Iterator[str]:
        for line in drawn(guard, self._limit - len(_INDENT)):
            value = self._paint(_STATES[line.state], line.value)
            yield f"{_INDENT}{line.before} {value}".rstrip()
        if guard.error not in told:
            yield from self._wrapped(shown(f"error: {guard.error}"), 1)

    def _asked(self, fact: AskedFact) -> Iterator[Iterator[str]]:
        if fact.script is None:
            yield self._fact(f"fact {fact.name} of {fact.key}", fact)
            return
        if fact.script.path:
            yield iter([f"{_INDENT}script {shown(fact.script.path)}"])
        yield self._numbered(fact.script)
        yield self._wrapped(f"read {shown(in_short(fact.input, MAX_VALUE))}", 1)
        yield self._fact("returned", fact)

    def _fact(self, name: str, fact: AskedFact) -> Iterator[str]:
        found = in_short(fact.found, MAX_VALUE) if fact.known else "not in the record"
        yield from self._wrapped(shown(f"{name}: {found}"), 1)

    def _match(self, rule: ExplainedRule) -> Iterator[str]:
        yield from self._wrapped(f"found {shown(in_short(rule.match, MAX_VALUE))}", 1)

    def _steps(self, explanation: Explanation) -> Iterator[str]:
        if explanation.steps:
            yield "steps"
        for one in explanation.steps:
            first, *rest = self._wrapped(shown(_step_words(one)), 1)
            yield first
            yield from (_INDENT + line for line in rest)

    def _notes(self, explanation: Explanation) -> Iterator[str]:
        for note in explanation.notes:
            first, *rest = self._wrapped(shown(f"note: {note}"), 0)
            yield self._paint(Style.WARNING, first[:5]) + first[5:]
            yield from (_INDENT + line for line in rest)

    def _wrapped(self, words: str, depth: int) -> Iterator[str]:
        """Break visible words into indented lines."""
        indent = _INDENT * depth
        for line in wrapped(words, self._limit - len(indent) - len(_INDENT), MAX_TEXT_LINES):
            yield indent + line


def _limit_words(limit: LimitFound) -> str:
    last = f", last at {local_time(limit.last_at)}" if limit.fired else ""
    times = f"fired {number_of(limit.fired, 'time')}{last}"
    if limit.name == "once":
        return f"once a session, {times}"
    unit = (
        number_of(limit.value, "turn") if limit.name == "cooldown_turns" else f"{limit.value:,} ms"
    )
    passed = f", {limit.counted:,} of them have passed" if limit.fired else ""
    return f"cool-down of {unit}{passed}, {times}"


def _step_words(one: ExplainedStep) -> str:
    took = f" in {one.ms} ms" if one.ms else ""
    said = "" if one.result is None else f": {in_short(one.result, MAX_VALUE)}"
    notice = f", notice {one.plan.delivers}" if one.plan.delivers else ""
    return (
        f"{one.number} {one.step.op} {step_words(one.step)} ({one.plan.rule}{notice})"
        f" → {one.status}{took}{said}"
    )
