"""What a TOML condition may read and call: `context` with its fields, functions and methods.

Compiled conditions read a `ConditionView`, which is filled in for each event.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from bylaw.expr.context_catalogue import FIELDS, SHAPES, type_of
from bylaw.expr.environment import Argument, Emit, Environment, Function, Parameter, Variable
from bylaw.expr.types import ANY, BOOL, FLOAT, INT, NUMBER, TEXT, list_of, record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class ConditionView(SimpleNamespace):
    """The fields that a condition reads: those of `FIELDS` and `TOTALS`."""


def view_of(
    context: Mapping[str, Any], completed: Mapping[str, int], message_total: int
) -> ConditionView:
    """Return the view of a complete context."""
    fields = {field: _at(context, path) for path, field in FIELDS.items()}
    return ConditionView(
        context=context, completed=completed, message_total=message_total, **fields
    )


def _at(context: Mapping[str, Any], path: str) -> Any:
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
        (_TOOL_NAME,),
        BOOL,
        lambda args, _, v: f"({args[0].code} in {v}history_failures)",
        inlined=True,
    ),
    "failure_count": Function(
        (_TOOL_NAME,),
        INT,
        lambda args, _, v: f"{v}history_failures.get({args[0].code}, 0)",
        inlined=True,
    ),
    "context_above_threshold": Function(
        (Parameter("threshold", ("int", "float")),),
        BOOL,
        lambda args, site, v: f"lenient_greater({v}turn_context_usage, {args[0].code}, B, {site})",
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


CONDITIONS = Environment(
    {
        "context": Variable(record(SHAPES), "context"),
        **{f"context.{path}": Variable(type_of(path), field) for path, field in FIELDS.items()},
    },
    FUNCTIONS,
    METHODS,
    strict=False,
    spellings={"true": "write `True`", "false": "write `False`", "null": "write `None`"},
)
