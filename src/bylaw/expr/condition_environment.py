"""What a TOML condition may read: `context` in the whole catalogue of TR-A18, and the helpers.

`ConditionView` is what compiled conditions read; whoever decides fills one in for each event.
`context.turn.number` is the field `turn_number` of it, so that an event costs what its conditions
read and no more; `context.turn` and `context` are fields of their own for who reads them whole.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bylaw.expr.environment import Argument, Emit, Environment, Function, Parameter, Variable
from bylaw.expr.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NUMBER,
    TEXT,
    Type,
    list_of,
    map_of,
    optional,
    record,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PLAIN_MAP = map_of(ANY)
_MESSAGE = record({"role": TEXT, "content": TEXT})
_TOOL = record(
    {
        "name": TEXT,
        "arguments": _PLAIN_MAP,
        "result": ANY,
        "success": optional(BOOL),  # null while nobody knows how it ended
        "timestamp": TEXT,
    }
)
SHAPES: dict[str, Type] = {
    "turn": record(
        {
            "number": INT,
            "token_usage": optional(FLOAT),
            "context_usage": optional(FLOAT),
            "iteration_count": INT,
        }
    ),
    "history": record(
        {
            "messages": list_of(_MESSAGE),
            "tools": list_of(_TOOL),
            "failures": map_of(INT),
            "total_tool_calls": INT,
            "total_failures": INT,
        }
    ),
    "user": record({"id": optional(TEXT), "settings": _PLAIN_MAP}),
    "project": record({"id": optional(TEXT), "settings": _PLAIN_MAP}),
    "state": map_of(ANY, missing_is_null=True),
    "event": optional(
        record(
            {
                "type": TEXT,
                "source": optional(TEXT),
                "severity": optional(TEXT),
                "payload": _PLAIN_MAP,
                "timestamp": optional(TEXT),
            }
        )
    ),
    "result": optional(
        record(
            {
                "tool_name": TEXT,
                "success": BOOL,
                "result": ANY,
                "error": optional(TEXT),
                "duration_ms": optional(NUMBER),
            }
        )
    ),
}


# The fields of the view that stand for a part of `context`.
PARTS = {
    "turn": "turn",
    "turn.number": "turn_number",
    "turn.token_usage": "token_usage",
    "turn.context_usage": "context_usage",
    "turn.iteration_count": "iteration_count",
    "history": "history",
    "history.messages": "messages",
    "history.tools": "tools",
    "history.failures": "failures",
    "history.total_tool_calls": "total_tool_calls",
    "history.total_failures": "total_failures",
    "user": "user",
    "project": "project",
    "state": "state",
    "event": "event",
    "result": "result",
}


@dataclass(slots=True, kw_only=True)
class ConditionView:
    """The parts of the context, and two totals that the windows in it do not hold."""

    context: Mapping[str, Any] = field(default_factory=dict)
    turn: Mapping[str, Any] = field(default_factory=dict)
    turn_number: int = 1
    token_usage: float | None = None
    context_usage: float | None = None
    iteration_count: int = 0
    history: Mapping[str, Any] = field(default_factory=dict)
    messages: Sequence[Any] = ()
    tools: Sequence[Any] = ()
    failures: Mapping[str, int] = field(default_factory=dict)
    total_tool_calls: int = 0
    total_failures: int = 0
    user: Mapping[str, Any] = field(default_factory=dict)
    project: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    event: Mapping[str, Any] | None = None
    result: Mapping[str, Any] | None = None
    completed: Mapping[str, int] = field(default_factory=dict)
    message_total: int = 0


def view_of(
    context: Mapping[str, Any], completed: Mapping[str, int], message_total: int
) -> ConditionView:
    """The view of a whole context that was given."""
    parts = {part: _part_of(context, path) for path, part in PARTS.items()}
    return ConditionView(context=context, completed=completed, message_total=message_total, **parts)


def _part_of(context: Mapping[str, Any], path: str) -> Any:
    section, _, name = path.partition(".")
    return context[section][name] if name else context[section]


def _plainly(function: str) -> Emit:
    def emit(args: Sequence[Argument], site: int, _view: str) -> str:
        return f"{function}(B, {site}" + "".join(f", {arg.code}" for arg in args) + ")"

    return emit


def _method(name: str) -> Emit:
    def emit(args: Sequence[Argument], site: int, _view: str) -> str:
        return f"method({name!r}, B, {site}, " + ", ".join(arg.code for arg in args) + ")"

    return emit


_VALUE = Parameter("value")
_TOOL_NAME = Parameter("name", ("str",))
_NUMBER = Parameter("number", ("int", "float", "bool"))


def _maybe(name: str, *kinds: str, how: str = "either") -> Parameter:
    return Parameter(name, kinds, required=False, how=how)


FUNCTIONS = {
    "int": Function((_VALUE, _maybe("base", "int")), INT, _plainly("to_int")),
    "float": Function((_VALUE,), FLOAT, _plainly("to_float")),
    "str": Function((_VALUE,), TEXT, _plainly("to_text")),
    "bool": Function((_VALUE,), BOOL, _plainly("to_bool")),
    "len": Function((_VALUE,), INT, _plainly("length")),
    "abs": Function((_NUMBER,), NUMBER, _plainly("absolute")),
    "min": Function((_VALUE, _maybe("default", how="keyword")), ANY, _plainly("least"), many=True),
    "max": Function(
        (_VALUE, _maybe("default", how="keyword")), ANY, _plainly("greatest"), many=True
    ),
    "round": Function((_NUMBER, _maybe("ndigits", "int")), NUMBER, _plainly("rounded")),
    "sum": Function((_VALUE, _maybe("start", "int", "float")), NUMBER, _plainly("total")),
    "any": Function((_VALUE,), BOOL, _plainly("any_of")),
    "all": Function((_VALUE,), BOOL, _plainly("all_of")),
    "sorted": Function(
        (_VALUE, _maybe("reverse", "bool", how="keyword")), list_of(ANY), _plainly("in_sequence")
    ),
    "tool_completed": Function(
        (_TOOL_NAME,), BOOL, lambda args, _, v: f"({args[0].code} in {v}completed)", inlined=True
    ),
    "tool_failed": Function(
        (_TOOL_NAME,), BOOL, lambda args, _, v: f"({args[0].code} in {v}failures)", inlined=True
    ),
    "failure_count": Function(
        (_TOOL_NAME,),
        INT,
        lambda args, _, v: f"{v}failures.get({args[0].code}, 0)",
        inlined=True,
    ),
    "context_above_threshold": Function(
        (Parameter("threshold", ("int", "float")),),
        BOOL,
        lambda args, site, v: f"lenient_greater({v}context_usage, {args[0].code}, B, {site})",
    ),
    "message_count_above": Function(
        (Parameter("count", ("int", "float")),),
        BOOL,
        lambda args, _, v: f"({v}message_total > {args[0].code})",
        inlined=True,
    ),
}
_STR, _MAP, _LIST = ("str",), ("map",), ("str", "list", "tuple")
METHODS = {
    "get": Function(
        (Parameter("key"), _maybe("default", how="position")), ANY, _method("get"), owners=_MAP
    ),
    "has": Function((Parameter("key"),), BOOL, _method("has"), owners=_MAP),
    "keys": Function((), list_of(ANY), _method("keys"), owners=_MAP),
    "values": Function((), list_of(ANY), _method("values"), owners=_MAP),
    "items": Function((), list_of(ANY), _method("items"), owners=_MAP),
    "lower": Function((), TEXT, _method("lower"), owners=_STR),
    "upper": Function((), TEXT, _method("upper"), owners=_STR),
    "strip": Function(
        (_maybe("chars", "str", how="position"),), TEXT, _method("strip"), owners=_STR
    ),
    "startswith": Function(
        (Parameter("prefix", ("str", "tuple")),), BOOL, _method("startswith"), owners=_STR
    ),
    "endswith": Function(
        (Parameter("suffix", ("str", "tuple")),), BOOL, _method("endswith"), owners=_STR
    ),
    "split": Function(
        (_maybe("sep", "str", "null"), _maybe("maxsplit", "int")),
        list_of(TEXT),
        _method("split"),
        owners=_STR,
    ),
    "join": Function((Parameter("parts"),), TEXT, _method("join"), owners=_STR),
    "count": Function((_VALUE,), INT, _method("count"), owners=_LIST),
    "index": Function((_VALUE,), INT, _method("index"), owners=_LIST),
    "replace": Function(
        (
            Parameter("old", ("str",)),
            Parameter("new", ("str",)),
            _maybe("count", "int", how="position"),
        ),
        TEXT,
        _method("replace"),
        owners=_STR,
    ),
}


def _type_of(path: str) -> Type:
    section, _, name = path.partition(".")
    fields = SHAPES[section].fields
    return SHAPES[section] if not name or fields is None else fields[name]


CONDITIONS = Environment(
    {
        "context": Variable(record(SHAPES), "context"),
        **{f"context.{path}": Variable(_type_of(path), part) for path, part in PARTS.items()},
    },
    FUNCTIONS,
    METHODS,
    strict=False,
    spellings={"true": "write `True`", "false": "write `False`", "null": "write `None`"},
)
