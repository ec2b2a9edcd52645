"""Evaluate an expression on facts: the work behind `bylaw expr`.

Facts are JSON. Missing facts get defaults; unknown or wrong facts are errors that underline the
place in the JSON text.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct, field

from bylaw.expr.condition_environment import SHAPES, ConditionView, view_from_context
from bylaw.expr.expression import Expression, load_condition, load_guard
from bylaw.expr.guard_environment import CallCount, GuardView, guard_environment, reserved_names
from bylaw.expr.types import (
    ANY,
    INT,
    TEXT,
    Type,
    describe_kinds,
    kind_of,
    list_of,
    map_of,
    optional,
    record,
)
from bylaw.model.codes.expressions import BAD_FACTS, GUARD_VALUE
from bylaw.model.diagnostic import error
from bylaw.model.display import brief
from bylaw.model.errors import GuardError, LoadError
from bylaw.model.source import BOM, SourceFile, Span
from bylaw.model.suggest import did_you_mean
from bylaw.model.values import JsonError, find_json_span, read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bylaw.model.diagnostic import Diagnostic

MAX_FACT_BITS = 64  # limit that compiled expressions assume for integers

_Path = tuple["str | int", ...]

_NUMERIC = frozenset({"int", "float", "null"})
_MAYBE_TEXT = optional(TEXT)
_TOOL_FACTS = record({"name": _MAYBE_TEXT, "args": optional(map_of(ANY)), "status": _MAYBE_TEXT})
_GUARD_DEFAULTS = {"turn_index": 1, "last_role": "none"}
_GUARD_FACTS = record(
    {
        "turn_index": INT,
        "context_tokens": INT,
        "history_length": INT,
        "last_role": TEXT,
        "event": record({"name": _MAYBE_TEXT, "tool": optional(_TOOL_FACTS)}),
        "calls": map_of(list_of(INT)),
        "last": record({"user": _MAYBE_TEXT, "assistant": _MAYBE_TEXT, "tool": _MAYBE_TEXT}),
        "vars": map_of(ANY),
        "now": INT,
        "fired_at": map_of(optional(INT)),
    }
)
_CONDITION_FACTS = record({"context": record(SHAPES)})
_EMPTY: dict[str, Callable[[], Any]] = {
    "null": lambda: None, "int": int, "float": float, "str": str, "bool": bool,
    "list": list, "map": dict,
}  # fmt: skip


def guard_view(source: SourceFile) -> GuardView:
    """Build the view of a ChatMD guard. All facts are optional."""
    given, reader = _read_facts(source), _FactReader(source)
    if isinstance(given, dict):
        given = {**_GUARD_DEFAULTS, **given}
    facts = reader.conform(given, _GUARD_FACTS)
    for name in facts["vars"]:
        if name in reserved_names():
            headline = f"`{name}` is a reserved name"
            reader.refuse(headline, ("vars", name), "rename the variable")
    tool, last = facts["event"]["tool"] or reader.empty(_TOOL_FACTS), facts["last"]
    return GuardView(
        turn_index=facts["turn_index"],
        context_tokens=facts["context_tokens"],
        history_length=facts["history_length"],
        last_role=facts["last_role"],
        event_name=facts["event"]["name"],
        tool_name=tool["name"],
        tool_args=tool["args"],
        tool_status=tool["status"],
        calls={name: CallCount(len(at), max(at)) for name, at in facts["calls"].items() if at},
        last_user=last["user"],
        last_assistant=last["assistant"],
        last_tool=last["tool"],
        variables=facts["vars"],
        now=facts["now"],
        fired_at={name: at for name, at in facts["fired_at"].items() if at is not None},
    )


def condition_view(source: SourceFile) -> ConditionView:
    """Build the view of a TOML condition. Missing parts are empty."""
    context = _FactReader(source).conform(_read_facts(source), _CONDITION_FACTS)["context"]
    completed: dict[str, int] = {}
    for tool in context["history"]["tools"]:
        if tool["success"]:
            completed[tool["name"]] = completed.get(tool["name"], 0) + 1
    return view_from_context(context, completed, len(context["history"]["messages"]))


def _read_facts(source: SourceFile) -> Any:
    try:
        return read_json(_text_of(source))
    except JsonError as problem:
        headline, span = problem.sentence_about("the facts are"), _in_source(source, problem.span)
        raise LoadError([error(BAD_FACTS, headline, source, span)]) from None


def _text_of(source: SourceFile) -> str:
    return source.text.removeprefix(BOM)


def _in_source(source: SourceFile, span: Span) -> Span:
    before = len(source.text) - len(_text_of(source))
    return Span(span.start + before, span.end + before)


class _FactReader(Struct, frozen=True):
    source: SourceFile

    def conform(self, value: Any, type_: Type, path: _Path = ()) -> Any:
        """Return the value with all fields of its type. Raise LoadError where it does not fit."""
        kind = kind_of(value)
        if kind == "int" and type_.kinds <= _NUMERIC and value.bit_length() > MAX_FACT_BITS:
            headline = f"{_subject(path)} is too large"
            self.refuse(headline, path, f"use a number with at most {MAX_FACT_BITS} bits")
        if kind == "int" and "float" in type_.kinds and "int" not in type_.kinds:
            return float(value)
        if kind not in type_.kinds:
            wanted = describe_kinds(type_.kinds)
            self.refuse(f"{_subject(path)} must be {wanted}, not {describe_kinds([kind])}", path)
        if kind == "map" and type_.fields is not None:
            return self.fields(value, type_.fields, path)
        if type_.item is None:
            return value
        if kind == "map":
            return {k: self.conform(v, type_.item, (*path, k)) for k, v in value.items()}
        if kind == "list":
            return [self.conform(v, type_.item, (*path, n)) for n, v in enumerate(value)]
        return value

    def fields(self, value: dict[str, Any], known: Mapping[str, Type], path: _Path) -> Any:
        for name in value:
            if name not in known:
                headline = f"unknown name `{brief(name)}` in {_subject(path)}"
                self.refuse(headline, (*path, name), did_you_mean(name, known))
        return {
            name: self.conform(value[name], field, (*path, name))
            if name in value
            else self.empty(field)
            for name, field in known.items()
        }

    def empty(self, type_: Type) -> Any:
        if type_.kinds != {"map"}:
            return next(_EMPTY[kind]() for kind in _EMPTY if kind in type_.kinds)
        return {name: self.empty(field) for name, field in (type_.fields or {}).items()}

    def refuse(self, headline: str, path: _Path, help_: str = "") -> NoReturn:
        """Raise LoadError. Underline the key or element at the path, else the start."""
        span = (find_json_span(_text_of(self.source), path) if path else None) or Span(0, 1)
        span = _in_source(self.source, span)
        raise LoadError([error(BAD_FACTS, headline, self.source, span, help=help_)])


def _subject(path: _Path) -> str:
    if not path:
        return "the facts"
    steps = (f"[{step}]" if isinstance(step, int) else f".{brief(step)}" for step in path)
    return f"`{''.join(steps).lstrip('.')}`"


_EVENTS_WITHOUT_CALL = frozenset({"turn_start", "turn_end", "message_appended"})
NO_FACTS = SourceFile("<facts>", "{}")


class ExpressionResult(Struct, frozen=True):
    """The answer of the machine interface, and the diagnostics for people."""

    answer: dict[str, Any]
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether the answer is an error."""
        return "error" in self.answer


def evaluate_expression(text: str, dialect: str, facts: SourceFile = NO_FACTS) -> ExpressionResult:
    """Load an expression of a language and evaluate it on facts."""
    try:
        expression, view = _LOADERS[dialect](SourceFile("<expression>", text), facts)
    except LoadError as refused:
        first = refused.diagnostics[0]
        return ExpressionResult(_error("load-" + first.code, first.headline), refused.diagnostics)
    try:
        return ExpressionResult(
            {"value": _json_value(expression.evaluate(view))}, expression.warnings
        )
    except GuardError as failed:
        return ExpressionResult(_error(failed.code, failed.message), expression.warnings)


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def _load_guard(source: SourceFile, facts: SourceFile) -> tuple[Expression, object]:
    view = guard_view(facts)
    environment = guard_environment(
        view.variables, has_call=view.event_name not in _EVENTS_WITHOUT_CALL
    )
    return load_guard(source, Span(0, len(source.text)), environment), view


def _load_condition(source: SourceFile, facts: SourceFile) -> tuple[Expression, object]:
    view = condition_view(facts)
    return load_condition(source, Span(0, len(source.text))), view


_LOADERS: dict[str, Callable[[SourceFile, SourceFile], tuple[Expression, object]]] = {
    "chatmd": _load_guard,
    "toml": _load_condition,
}
EXPRESSION_LANGUAGES = tuple(_LOADERS)


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
