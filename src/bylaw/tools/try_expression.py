"""Evaluate an expression on facts: the work behind `bylaw expr`."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from bylaw.expr.expression import Expression, load_condition, load_guard
from bylaw.expr.guard_environment import guard_environment
from bylaw.model.codes.expressions import GUARD_VALUE
from bylaw.model.errors import GuardError, LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.tools.expression_facts import condition_view, guard_view

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.diagnostic import Diagnostic

_EVENTS_WITHOUT_CALL = frozenset({"turn_start", "turn_end", "message_appended"})
NO_FACTS = SourceFile("<facts>", "{}")


class Trial(Struct, frozen=True):
    """The answer of the machine interface, and the diagnostics for people."""

    answer: dict[str, Any]
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether the answer is an error."""
        return "error" in self.answer


def try_expression(text: str, dialect: str, facts: SourceFile = NO_FACTS) -> Trial:
    """Load an expression of a language and evaluate it on facts."""
    try:
        expression, view = _LOADERS[dialect](SourceFile("<expression>", text), facts)
    except LoadError as refused:
        first = refused.diagnostics[0]
        return Trial(_error("load-" + first.code, first.headline), refused.diagnostics)
    try:
        return Trial({"value": _json_value(expression.evaluate(view))}, expression.warnings)
    except GuardError as failed:
        return Trial(_error(failed.code, failed.message), expression.warnings)


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def _guard(source: SourceFile, facts: SourceFile) -> tuple[Expression, object]:
    view = guard_view(facts)
    environment = guard_environment(
        view.variables, has_call=view.event_name not in _EVENTS_WITHOUT_CALL
    )
    return load_guard(source, Span(0, len(source.text)), environment), view


def _condition(source: SourceFile, facts: SourceFile) -> tuple[Expression, object]:
    view = condition_view(facts)
    return load_condition(source, Span(0, len(source.text))), view


_LOADERS: dict[str, Callable[[SourceFile, SourceFile], tuple[Expression, object]]] = {
    "chatmd": _guard,
    "toml": _condition,
}
DIALECTS = tuple(_LOADERS)


def _json_value(value: Any) -> Any:
    """Convert a value to JSON, which has only text keys and finite numbers."""
    if isinstance(value, dict):
        found = {_json_key(key): _json_value(item) for key, item in value.items()}
        if len(found) < len(value):
            raise GuardError(GUARD_VALUE.name, "two keys of the map become the same text in JSON")
        return found
    if isinstance(value, list):
        return [_json_value(item) for item in value]
    if isinstance(value, float) and not isfinite(value):
        raise GuardError(GUARD_VALUE.name, f"the value is {value}, which JSON cannot represent")
    return value


def _json_key(key: Any) -> str:
    return key if isinstance(key, str) else str(_json_value(key))
