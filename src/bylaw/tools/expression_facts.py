"""Facts written as JSON → the view that an expression reads, with what is left out filled in."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from bylaw.expr.condition_environment import SHAPES, ConditionView
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
from bylaw.model.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_FACTS_DEPTH = 100
MAX_FACT_BITS = 64  # what compiled expressions rely on where they expect a whole number

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
    """The view of a ChatMD guard from its facts, all of them optional."""
    given = _read(source)
    if isinstance(given, dict):
        given = {**_GUARD_DEFAULTS, **given}
    facts = _Facts(source).conform(given, _GUARD_FACTS, "")
    for name in facts["vars"]:
        if name in reserved_names():
            headline = f"`{name}` is a name of the language and no variable"
            _refuse(source, headline, _Facts(source).place(name), "give the variable another name")
    tool, last = facts["event"]["tool"] or _Facts(source).empty(_TOOL_FACTS), facts["last"]
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
    """The view of a TOML condition from its facts, missing parts empty."""
    context = _Facts(source).conform(_read(source), _CONDITION_FACTS, "")["context"]
    completed: dict[str, int] = {}
    for tool in context["history"]["tools"]:
        if tool["success"]:
            completed[tool["name"]] = completed.get(tool["name"], 0) + 1
    return ConditionView(context, completed, len(context["history"]["messages"]))


def _read(source: SourceFile) -> Any:
    text = source.text.removeprefix(BOM)
    try:
        facts = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_without_duplicates)
    except json.JSONDecodeError as problem:
        at = problem.pos + len(source.text) - len(text)
        span = _inside(source, Span(at, at + 1))
        _refuse(source, f"the facts are not JSON: {problem.msg.lower()}", span)
    except _DuplicateKeyError as problem:
        _refuse(source, f"the key `{problem}` is there twice", _start(source), "delete one of them")
    except ValueError:
        _refuse(source, "the facts are not JSON that can be read", _start(source))
    except RecursionError:
        _refuse_depth(source)
    if _is_too_deep(facts):
        _refuse_depth(source)
    return facts


class _DuplicateKeyError(ValueError):
    pass


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _DuplicateKeyError(key)
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _is_too_deep(facts: Any) -> bool:
    level = [facts]
    for _ in range(MAX_FACTS_DEPTH):
        level = [part for value in level for part in _parts(value)]
    return bool(level)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse_depth(source: SourceFile) -> NoReturn:
    headline = f"the facts are nested more than {MAX_FACTS_DEPTH} deep"
    _refuse(source, headline, _start(source), "make the structure flatter")


def _start(source: SourceFile) -> Span:
    return _inside(source, Span(0, 1))


def _inside(source: SourceFile, span: Span) -> Span:
    """The span, or the end of the source if it lies behind it: an empty text has no character."""
    size = len(source.text)
    return Span(min(span.start, max(size - 1, 0)), min(span.end, size))


def _refuse(source: SourceFile, headline: str, span: Span, help_: str = "") -> NoReturn:
    raise LoadError([error(BAD_FACTS, headline, source, span, help=help_)])


@dataclass(frozen=True)
class _Facts:
    source: SourceFile

    def conform(self, value: Any, type_: Type, path: str) -> Any:
        """The value with every field of its type, or LoadError naming where it differs."""
        kind = kind_of(value)
        if kind == "int" and type_.kinds <= _NUMERIC and value.bit_length() > MAX_FACT_BITS:
            headline = f"{_subject(path)} is too large a number"
            help_ = f"counters and times have at most {MAX_FACT_BITS} bits"
            _refuse(self.source, headline, _start(self.source), help_)
        if kind == "int" and "float" in type_.kinds and "int" not in type_.kinds:
            return float(value)
        if kind not in type_.kinds:
            wanted = in_words(type_.kinds)
            headline = f"{_subject(path)} must be {wanted}, not {in_words([kind])}"
            _refuse(self.source, headline, self.place(path.rpartition(".")[2]))
        if kind == "map" and type_.fields is not None:
            return self.fields(value, type_, path)
        if type_.item is None:
            return value
        if kind == "map":
            return {k: self.conform(v, type_.item, f"{path}.{k}") for k, v in value.items()}
        if kind == "list":
            return [self.conform(v, type_.item, f"{path}[{n}]") for n, v in enumerate(value)]
        return value

    def fields(self, value: dict[str, Any], type_: Type, path: str) -> dict[str, Any]:
        known = type_.fields or {}
        for name in value:
            if name not in known:
                headline = f"there is no `{name}` in {_subject(path)}"
                _refuse(self.source, headline, self.place(name), did_you_mean(name, known))
        return {
            name: self.conform(value[name], field, f"{path}.{name}")
            if name in value
            else self.empty(field)
            for name, field in known.items()
        }

    def place(self, name: str) -> Span:
        """Where a key is first written, as far as its spelling tells; else the beginning."""
        written = json.dumps(name.partition("[")[0], ensure_ascii=False)
        at = self.source.text.find(written)
        return Span(at, at + len(written)) if at >= 0 else Span(0, 1)

    def empty(self, type_: Type) -> Any:
        if type_.kinds != {"map"}:
            return next(_EMPTY[kind]() for kind in _EMPTY if kind in type_.kinds)
        return {name: self.empty(field) for name, field in (type_.fields or {}).items()}


def _subject(path: str) -> str:
    return f"`{path.lstrip('.')}`" if path else "the facts"
