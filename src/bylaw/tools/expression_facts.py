"""Build the view that an expression reads from facts in JSON. Missing facts get defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import Struct

from bylaw.expr.condition_environment import ConditionView, view_of
from bylaw.expr.context_catalogue import SHAPES
from bylaw.expr.guard_environment import CallCount, GuardView, reserved_names
from bylaw.expr.types import (
    ANY,
    INT,
    TEXT,
    Type,
    in_words,
    kind_of,
    list_of,
    map_of,
    optional,
    record,
)
from bylaw.model.codes.expressions import BAD_FACTS
from bylaw.model.diagnostic import error
from bylaw.model.errors import LoadError
from bylaw.model.source import BOM, SourceFile, Span
from bylaw.model.strict_json import JsonError, place_of, read_json
from bylaw.model.suggest import did_you_mean
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
    given, reader = _read(source), _Facts(source)
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
    context = _Facts(source).conform(_read(source), _CONDITION_FACTS)["context"]
    completed: dict[str, int] = {}
    for tool in context["history"]["tools"]:
        if tool["success"]:
            completed[tool["name"]] = completed.get(tool["name"], 0) + 1
    return view_of(context, completed, len(context["history"]["messages"]))


def _read(source: SourceFile) -> Any:
    try:
        return read_json(_text_of(source))
    except JsonError as problem:
        headline, span = problem.told_of("the facts are"), _in_source(source, problem.span)
        raise LoadError([error(BAD_FACTS, headline, source, span)]) from None


def _text_of(source: SourceFile) -> str:
    return source.text.removeprefix(BOM)


def _in_source(source: SourceFile, span: Span) -> Span:
    before = len(source.text) - len(_text_of(source))
    return Span(span.start + before, span.end + before)


class _Facts(Struct, frozen=True):
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
            wanted = in_words(type_.kinds)
            self.refuse(f"{_subject(path)} must be {wanted}, not {in_words([kind])}", path)
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
        span = (place_of(_text_of(self.source), path) if path else None) or Span(0, 1)
        span = _in_source(self.source, span)
        raise LoadError([error(BAD_FACTS, headline, self.source, span, help=help_)])


def _subject(path: _Path) -> str:
    if not path:
        return "the facts"
    steps = (f"[{step}]" if isinstance(step, int) else f".{brief(step)}" for step in path)
    return f"`{''.join(steps).lstrip('.')}`"
