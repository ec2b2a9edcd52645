"""Convert an explanation to data for JSON."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from bylaw.expr.explaining import State
from bylaw.tools.printers import timeline
from bylaw.tools.printers.wording import in_fixed_order

if TYPE_CHECKING:
    from bylaw.expr.explaining import Explained, Part
    from bylaw.tools.explain.values import (
        AskedFact,
        ExplainedRule,
        ExplainedStep,
        Explanation,
        WrittenText,
    )


def as_data(explanation: Explanation) -> dict[str, object]:
    """Return the record as `bylaw log` prints it, with its explanation."""
    return {
        "record": timeline.as_data(explanation.stored),
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
        "asked": [_asked(fact) for fact in rule.asked],
        "match": rule.match,
        "limits": [_fields(limit) for limit in rule.limits],
        "gates": [_fields(gate) for gate in rule.gates],
    }


def _fields(value: object) -> object:
    return msgspec.to_builtins(value)


def _text(text: WrittenText | None) -> object:
    return None if text is None else _fields(text)


def _guard(guard: Explained) -> dict[str, object]:
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
        "value": plain(part.value) if part.state is State.VALUE else None,
        "error": part.error,
        "parts": [_part(one, begin) for one in part.parts],
    }


def plain(value: Any) -> object:
    """Convert a value of an expression to JSON."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in in_fixed_order(value)]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value


def _asked(fact: AskedFact) -> dict[str, object]:
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
