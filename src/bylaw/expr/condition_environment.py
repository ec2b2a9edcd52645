"""What a TOML condition may read and call: `context` with its fields, functions and methods.

Compiled conditions read a `ConditionView`, which is filled in for each event. An attribute of
`context` (TR-A18) has the path that authors write after `context.`, a type, and the code that reads
it. The view has one field for each path: the path `turn.number` is the field `turn_number`. So an
event computes only the fields that its rules read.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from bylaw.expr.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NUMBER,
    TEXT,
    Argument,
    Emit,
    Environment,
    Function,
    Parameter,
    Type,
    Variable,
    list_of,
    map_of,
    optional,
    record,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class ContextAttribute(NamedTuple):
    """The type of an attribute, and the code that reads it.

    The names `s`, `e`, `l` and `n` are those of `ViewReader`; `views` adds the functions.
    `{space!r}` is the space of variables that has the state of the rule's plugin.
    """

    type: Type
    code: str


_PLAIN_MAP = map_of(ANY)
_PARTY = record({"id": optional(TEXT), "settings": _PLAIN_MAP})
_MESSAGE = record({"role": TEXT, "content": TEXT})
_TOOL = record(
    {
        "name": TEXT,
        "arguments": _PLAIN_MAP,
        "result": ANY,
        "success": optional(BOOL),  # null while the outcome is unknown
        "timestamp": TEXT,
    }
)
_EVENT = record(
    {
        "type": TEXT,
        "source": optional(TEXT),
        "severity": optional(TEXT),
        "payload": _PLAIN_MAP,
        "timestamp": optional(TEXT),
    }
)
_RESULT = record(
    {
        "tool_name": TEXT,
        "success": BOOL,
        "result": ANY,
        "error": optional(TEXT),
        "duration_ms": optional(NUMBER),
    }
)
_TOKENS = "s.history.tokens"
ATTRIBUTES = {
    "turn.number": ContextAttribute(INT, "s.turn_during(e.kind)"),
    "turn.token_usage": ContextAttribute(
        optional(FLOAT), f"share_of({_TOKENS}, e.facts.token_budget)"
    ),
    "turn.context_usage": ContextAttribute(
        optional(FLOAT), f"share_of({_TOKENS}, e.facts.context_window)"
    ),
    "turn.iteration_count": ContextAttribute(INT, "s.turns_since_prompt(e.kind)"),
    "history.messages": ContextAttribute(list_of(_MESSAGE), "messages_of(s.history)"),
    "history.tools": ContextAttribute(list_of(_TOOL), "tools_of(s.calls)"),
    "history.failures": ContextAttribute(map_of(INT), "s.calls.failures"),
    "history.total_tool_calls": ContextAttribute(INT, "s.calls.all.count"),
    "history.total_failures": ContextAttribute(INT, "s.calls.total_failures"),
    "user": ContextAttribute(_PARTY, "party(e.facts.user)"),
    "project": ContextAttribute(_PARTY, "party(e.facts.project)"),
    "state": ContextAttribute(map_of(ANY, missing_is_null=True), "l.space({space!r})"),
    "event": ContextAttribute(optional(_EVENT), "event_of(e, n)"),
    "result": ContextAttribute(optional(_RESULT), "result_of(e)"),
}
# Fields for functions, which `context` does not have: successes by tool, and number of messages.
TOTALS = {"completed": "s.calls.successes", "message_total": "s.history.length"}


def _section_type(section: str) -> Type:
    if section in ATTRIBUTES:
        return ATTRIBUTES[section].type
    start = f"{section}."
    below = {path: one.type for path, one in ATTRIBUTES.items() if path.startswith(start)}
    return record({path.removeprefix(start): type_ for path, type_ in below.items()})


# The types of the sections of `context`; a section without its own line is built from its names.
SHAPES = {path.partition(".")[0]: _section_type(path.partition(".")[0]) for path in ATTRIBUTES}
# The paths that have a field: every attribute and every section.
FIELDS = {path: path.replace(".", "_") for path in (*SHAPES, *ATTRIBUTES)}


def path_type(path: str) -> Type:
    """Return the type of a path that has a field."""
    return ATTRIBUTES[path].type if path in ATTRIBUTES else SHAPES[path]


class ConditionView(SimpleNamespace):
    """The fields that a condition reads: those of `FIELDS` and `TOTALS`."""


def view_from_context(
    context: Mapping[str, Any], completed: Mapping[str, int], message_total: int
) -> ConditionView:
    """Return the view of a complete context."""
    fields = {field: _value_at(context, path) for path, field in FIELDS.items()}
    return ConditionView(
        context=context, completed=completed, message_total=message_total, **fields
    )


def _value_at(context: Mapping[str, Any], path: str) -> Any:
    section, _, name = path.partition(".")
    return context[section][name] if name else context[section]


def _emit_call(function: str) -> Emit:
    def emit(args: Sequence[Argument], site: int, _view: str) -> str:
        return f"{function}(B, {site}" + "".join(f", {arg.code}" for arg in args) + ")"

    return emit


def _emit_method(name: str) -> Emit:
    def emit(args: Sequence[Argument], site: int, _view: str) -> str:
        return f"method({name!r}, B, {site}, " + ", ".join(arg.code for arg in args) + ")"

    return emit


_VALUE = Parameter("value")
_TOOL_NAME = Parameter("name", ("str",))
_NUMBER = Parameter("number", ("int", "float", "bool"))


def _optional_parameter(name: str, *kinds: str, how: str = "either") -> Parameter:
    return Parameter(name, kinds, required=False, how=how)


FUNCTIONS = {
    "int": Function((_VALUE, _optional_parameter("base", "int")), INT, _emit_call("to_int")),
    "float": Function((_VALUE,), FLOAT, _emit_call("to_float")),
    "str": Function((_VALUE,), TEXT, _emit_call("to_text")),
    "bool": Function((_VALUE,), BOOL, _emit_call("to_bool")),
    "len": Function((_VALUE,), INT, _emit_call("length")),
    "abs": Function((_NUMBER,), NUMBER, _emit_call("absolute")),
    "min": Function(
        (_VALUE, _optional_parameter("default", how="keyword")), ANY, _emit_call("least"), many=True
    ),
    "max": Function(
        (_VALUE, _optional_parameter("default", how="keyword")),
        ANY,
        _emit_call("greatest"),
        many=True,
    ),
    "round": Function(
        (_NUMBER, _optional_parameter("ndigits", "int")), NUMBER, _emit_call("rounded")
    ),
    "sum": Function(
        (_VALUE, _optional_parameter("start", "int", "float")), NUMBER, _emit_call("total")
    ),
    "any": Function((_VALUE,), BOOL, _emit_call("any_of")),
    "all": Function((_VALUE,), BOOL, _emit_call("all_of")),
    "sorted": Function(
        (_VALUE, _optional_parameter("reverse", "bool", how="keyword")),
        list_of(ANY),
        _emit_call("in_sequence"),
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
        (Parameter("key"), _optional_parameter("default", how="position")),
        ANY,
        _emit_method("get"),
        owners=_MAP,
    ),
    "has": Function((Parameter("key"),), BOOL, _emit_method("has"), owners=_MAP),
    "keys": Function((), list_of(ANY), _emit_method("keys"), owners=_MAP),
    "values": Function((), list_of(ANY), _emit_method("values"), owners=_MAP),
    "items": Function((), list_of(ANY), _emit_method("items"), owners=_MAP),
    "lower": Function((), TEXT, _emit_method("lower"), owners=_STR),
    "upper": Function((), TEXT, _emit_method("upper"), owners=_STR),
    "strip": Function(
        (_optional_parameter("chars", "str", how="position"),),
        TEXT,
        _emit_method("strip"),
        owners=_STR,
    ),
    "startswith": Function(
        (Parameter("prefix", ("str", "tuple")),), BOOL, _emit_method("startswith"), owners=_STR
    ),
    "endswith": Function(
        (Parameter("suffix", ("str", "tuple")),), BOOL, _emit_method("endswith"), owners=_STR
    ),
    "split": Function(
        (_optional_parameter("sep", "str", "null"), _optional_parameter("maxsplit", "int")),
        list_of(TEXT),
        _emit_method("split"),
        owners=_STR,
    ),
    "join": Function((Parameter("parts"),), TEXT, _emit_method("join"), owners=_STR),
    "count": Function((_VALUE,), INT, _emit_method("count"), owners=_LIST),
    "index": Function((_VALUE,), INT, _emit_method("index"), owners=_LIST),
    "replace": Function(
        (
            Parameter("old", ("str",)),
            Parameter("new", ("str",)),
            _optional_parameter("count", "int", how="position"),
        ),
        TEXT,
        _emit_method("replace"),
        owners=_STR,
    ),
}


CONDITIONS = Environment(
    {
        "context": Variable(record(SHAPES), "context"),
        **{f"context.{path}": Variable(path_type(path), field) for path, field in FIELDS.items()},
    },
    FUNCTIONS,
    METHODS,
    strict=False,
    spellings={"true": "write `True`", "false": "write `False`", "null": "write `None`"},
)
