"""Print an explanation as text, with the values of each expression, or as data for JSON.

context.turn.token_usage > 0.8 and context.history.total_tool_calls > 5
------------------------ 0.85
------------------------------ true

An expression that is too long for marks is drawn as a tree.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from bylaw.expr.evaluation_trace import State
from bylaw.model.decision import TraceResult
from bylaw.model.display import (
    columns,
    display_text,
    fixed_order,
    number_of,
    short_json,
    width,
    wrap,
)
from bylaw.model.event import EffectDone
from bylaw.model.paint import Paint, Style
from bylaw.model.vocabulary import Verdict
from bylaw.report.printers import log
from bylaw.report.printers.layout import cut, local_time
from bylaw.report.printers.log import event_words, step_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.expr.evaluation_trace import ExpressionTrace, Part
    from bylaw.report.explain_rules import (
        ExplainedRule,
        ExplainedStep,
        Explanation,
        FactRead,
        LimitState,
        NumberedText,
    )

MAX_PART_VALUE = 200  # characters
MIN_VALUE = 14  # columns for a value; with fewer, too much of it would be cut
NOT_EVALUATED = "not evaluated"
FAILED = "failed"


class PartLine(NamedTuple):
    """A line: the marks or the text of a part, then its value."""

    before: str
    value: str
    state: State

    @property
    def text(self) -> str:
        """The complete line."""
        return f"{self.before} {self.value}" if self.value else self.before


def draw(explained: ExpressionTrace, limit: int) -> list[PartLine]:
    """Draw the expression and its parts, with no line wider than `limit`."""
    return _draw_marks(explained, limit) or _draw_tree(explained.part, limit)


def value_of(part: Part) -> str:
    """Return the value in short, or why there is no value."""
    if part.state is State.NOT_EVALUATED:
        return NOT_EVALUATED
    return (
        FAILED
        if part.state is State.FAILED
        else display_text(short_json(part.value, MAX_PART_VALUE))
    )


def _draw_marks(explained: ExpressionTrace, limit: int) -> list[PartLine]:
    """Draw marks under the expression, or return [] if they do not fit."""
    written = explained.source.slice(explained.span)
    text, starts = columns(written)
    if "\n" in written or width(text) > limit:
        return []
    lines = [PartLine(text, "", State.VALUE)]
    for part in _inner_first(explained.part):
        begin = starts[part.span.start - explained.span.start]
        end = starts[part.span.end - explained.span.start]
        value, room = value_of(part), limit - end - 1
        if width(value) > room < MIN_VALUE:
            return []
        lines.append(PartLine(" " * begin + "-" * (end - begin), cut(value, room), part.state))
    return lines


def _inner_first(part: Part) -> Iterator[Part]:
    for one in part.parts:
        yield from _inner_first(one)
    yield part


def _draw_tree(root: Part, limit: int) -> list[PartLine]:
    """Draw one line per part, with its own parts below it."""
    rows = [(lead + _part_text(part), part) for lead, part in _branches(root, "", "")]
    most = limit - 1 - min(max(width(value_of(part)) for _, part in rows), limit // 3)
    column = min(max(width(text) for text, _ in rows), most)
    return [
        PartLine(
            _pad(cut(text, column), column), cut(value_of(part), limit - column - 1), part.state
        )
        for text, part in rows
    ]


def _branches(part: Part, lead: str, below: str) -> Iterator[tuple[str, Part]]:
    yield lead, part
    for place, one in enumerate(part.parts):
        last = place == len(part.parts) - 1
        yield from _branches(
            one, below + ("└ " if last else "├ "), below + ("  " if last else "│ ")
        )


def _part_text(part: Part) -> str:
    return display_text(" ".join(part.text.split()))


def _pad(text: str, to: int) -> str:
    return text + " " * (to - width(text))


MIN_WIDTH = 60  # columns
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
_NOT_RUN = ("was not evaluated", Style.PLAIN)
_VERDICTS = {
    Verdict.ALLOW: Style.GOOD,
    Verdict.WARN: Style.WARNING,
    Verdict.ASK: Style.WARNING,
    Verdict.DENY: Style.BAD,
    Verdict.HALT: Style.BAD,
}
_STATES = {State.VALUE: Style.STRONG, State.FAILED: Style.BAD, State.NOT_EVALUATED: Style.FAINT}


def render_explanation(explanation: Explanation, *, limit: int, color: bool = False) -> str:
    """Print all parts, separated by blank lines."""
    text = _ExplanationPrinter(max(limit, MIN_WIDTH), Paint(color))
    parts = [list(part) for part in text.parts(explanation)]
    return "\n".join("".join(f"{line}\n" for line in part) for part in parts if part)


class _ExplanationPrinter:
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
        title = f"record {header.seq} of session {display_text(header.session)}"
        yield f"{self._paint(Style.STRONG, title)}, {local_time(header.at)}"
        words = "" if record is None else event_words(record.event)
        yield from self._wrapped(f"{display_text(header.kind)} {display_text(words)}".rstrip(), 1)
        if record is not None and record.event.cause:
            yield from self._wrapped(f"caused by {display_text(', '.join(record.event.cause))}", 1)
        if record is not None and isinstance(record.event, EffectDone):
            yield f"{_INDENT}outcome of step {record.event.step} of record {record.event.of}"

    def _verdict(self, explanation: Explanation) -> Iterator[str]:
        record = explanation.stored.record
        if record is None:
            yield f"verdict {display_text(explanation.stored.header.verdict)}"
            return
        decision = record.decision
        yield f"verdict {self._paint(_VERDICTS[decision.verdict], decision.verdict.value)}"
        for reason in explanation.reasons:
            place = f" ({reason.file}:{reason.line})" if reason.file else ""
            yield from self._wrapped(
                display_text(f"{reason.verdict.value} {reason.rule}{place}:"), 1
            )
            for line in reason.text.split("\n")[:MAX_TEXT_LINES]:
                yield from self._wrapped(display_text(line), 2)
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
            yield from self._fact_read(fact)
        if rule.match:
            yield self._match(rule)

    def _rule_head(self, rule: ExplainedRule) -> Iterator[str]:
        words, style = _NOT_RUN if rule.result is None else _RESULTS[rule.result]
        place = f" ({display_text(rule.file)}:{rule.line})" if rule.file else ""
        yield f"rule {self._paint(Style.STRONG, display_text(rule.id))}{place}"
        told = f": {rule.detail}" if rule.detail else ""
        first, *rest = self._wrapped(display_text(words + told), 1)
        yield first.replace(words, self._paint(style, words), 1)
        yield from rest

    def _numbered(self, text: NumberedText) -> Iterator[str]:
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
            words = display_text(f"gate {gate.name}: needs {gate.wants}, found {gate.found}")
            yield f"{_INDENT}{cut(words, self._limit - 10)}: {state}"

    def _guard(self, guard: ExpressionTrace, told: str) -> Iterator[str]:
        for line in draw(guard, self._limit - len(_INDENT)):
            value = self._paint(_STATES[line.state], line.value)
            yield f"{_INDENT}{line.before} {value}".rstrip()
        if guard.error not in told:
            yield from self._wrapped(display_text(f"error: {guard.error}"), 1)

    def _fact_read(self, fact: FactRead) -> Iterator[Iterator[str]]:
        if fact.script is None:
            yield self._fact(f"fact {fact.name} of {fact.key}", fact)
            return
        if fact.script.path:
            yield iter([f"{_INDENT}script {display_text(fact.script.path)}"])
        yield self._numbered(fact.script)
        yield self._wrapped(f"read {display_text(short_json(fact.input, MAX_VALUE))}", 1)
        yield self._fact("returned", fact)

    def _fact(self, name: str, fact: FactRead) -> Iterator[str]:
        found = short_json(fact.found, MAX_VALUE) if fact.known else "not in the record"
        yield from self._wrapped(display_text(f"{name}: {found}"), 1)

    def _match(self, rule: ExplainedRule) -> Iterator[str]:
        yield from self._wrapped(f"found {display_text(short_json(rule.match, MAX_VALUE))}", 1)

    def _steps(self, explanation: Explanation) -> Iterator[str]:
        if explanation.steps:
            yield "steps"
        for one in explanation.steps:
            first, *rest = self._wrapped(display_text(_step_words(one)), 1)
            yield first
            yield from (_INDENT + line for line in rest)

    def _notes(self, explanation: Explanation) -> Iterator[str]:
        for note in explanation.notes:
            first, *rest = self._wrapped(display_text(f"note: {note}"), 0)
            yield self._paint(Style.WARNING, first[:5]) + first[5:]
            yield from (_INDENT + line for line in rest)

    def _wrapped(self, words: str, depth: int) -> Iterator[str]:
        """Break visible words into indented lines."""
        indent = _INDENT * depth
        for line in wrap(words, self._limit - len(indent) - len(_INDENT), MAX_TEXT_LINES):
            yield indent + line


def _limit_words(limit: LimitState) -> str:
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
    said = "" if one.result is None else f": {short_json(one.result, MAX_VALUE)}"
    notice = f", notice {one.plan.delivers}" if one.plan.delivers else ""
    return (
        f"{one.number} {one.step.op} {step_words(one.step)} ({one.plan.rule}{notice})"
        f" → {one.status}{took}{said}"
    )


def explanation_data(explanation: Explanation) -> dict[str, object]:
    """Return the record as `bylaw log` prints it, with its explanation."""
    return {
        "record": log.record_data(explanation.stored),
        "reasons": [_fields(reason) for reason in explanation.reasons],
        "rules": [_rule(rule) for rule in explanation.rules],
        "steps": [_step(step) for step in explanation.steps],
        "notes": list(explanation.notes),
    }


def _rule(rule: ExplainedRule) -> dict[str, object]:
    return {
        "uid": rule.uid,
        "id": rule.id,
        "file": rule.file,
        "line": rule.line,
        "result": None if rule.result is None else rule.result.value,
        "detail": rule.detail,
        "text": _text(rule.text),
        "guard": None if rule.guard is None else _guard(rule.guard),
        "checks": [_guard(check) for check in rule.checks],
        "asked": [_fact_data(fact) for fact in rule.asked],
        "match": rule.match,
        "limits": [_fields(limit) for limit in rule.limits],
        "gates": [_fields(gate) for gate in rule.gates],
    }


def _fields(value: object) -> object:
    return msgspec.to_builtins(value)


def _text(text: NumberedText | None) -> object:
    return None if text is None else _fields(text)


def _guard(guard: ExpressionTrace) -> dict[str, object]:
    return {
        "text": guard.source.slice(guard.span),
        "error": guard.error,
        "part": _part(guard.part, guard.span.start),
    }


def _part(part: Part, begin: int) -> dict[str, object]:
    """Count `start` and `end` in characters from the beginning of the expression."""
    return {
        "start": part.span.start - begin,
        "end": part.span.end - begin,
        "text": part.text,
        "state": part.state.value,
        "value": plain_value(part.value) if part.state is State.VALUE else None,
        "error": part.error,
        "parts": [_part(one, begin) for one in part.parts],
    }


def plain_value(value: Any) -> object:
    """Convert a value of an expression to JSON."""
    if isinstance(value, dict):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_value(item) for item in fixed_order(value)]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value


def _fact_data(fact: FactRead) -> dict[str, object]:
    return {
        "name": fact.name,
        "key": fact.key,
        "known": fact.known,
        "found": fact.found,
        "script": _text(fact.script),
        "input": fact.input,
    }


def _step(one: ExplainedStep) -> dict[str, object]:
    return {
        "number": one.number,
        "rule": one.plan.rule,
        "uid": one.plan.uid,
        "delivers": one.plan.delivers,
        **msgspec.to_builtins(one.step),
        "outcome": {"status": one.status, "result": one.result, "ms": one.ms},
    }
