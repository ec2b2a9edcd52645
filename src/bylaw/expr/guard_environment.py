"""What a ChatMD guard may read: built-in variables and functions, and the variables of its file.

Compiled guards read a `GuardView`, which is filled in for each event.

Also here: how `arg("a.b.0")` and `jsonpath("$.a.b[0]")` read one value from the arguments of a
call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from bylaw.expr.types import (
    ANY,
    BOOL,
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
    kind_type,
    map_of,
    optional,
)
from bylaw.model.codes.expressions import UNSUPPORTED_JSONPATH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bylaw.model.codes import Code

_JSONPATH_STEP = re.compile(
    r"""\.(?P<name>[^\W\d]\w*) | \[(?P<index>-?(?:0|[1-9]\d{0,8}))\]
      | \[(?:"(?P<double>[^"\\]*)"|'(?P<single>[^'\\]*)')\]""",
    re.VERBOSE,
)

_INDEX = re.compile(r"[0-9]{1,9}")


def split_path(path: str) -> tuple[str, ...]:
    """Return the segments of a dot path."""
    return tuple(path.split("."))


def parse_jsonpath(path: str) -> tuple[str | int, ...] | None:
    """Return the steps of a JSONPath that has exactly one result (CM-A24), else None."""
    if not path.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        match = _JSONPATH_STEP.match(path, at)
        if match is None:
            return None
        index, name = match["index"], match["name"] or match["double"] or match["single"] or ""
        steps.append(int(index) if index is not None else name)
        at = match.end()
    return tuple(steps)


def dig(value: Any, segments: tuple[str, ...]) -> Any:
    """Follow a dot path; a segment of digits indexes a list; missing values are null (CM-A19)."""
    for segment in segments:
        if value.__class__ is dict:
            value = value.get(segment)
        elif value.__class__ is list and _INDEX.fullmatch(segment):
            at = int(segment)
            value = value[at] if at < len(value) else None
        else:
            return None
    return value


def follow(value: Any, steps: tuple[str | int, ...]) -> Any:
    """Follow the steps of a JSONPath; missing values are null."""
    for step in steps:
        if value.__class__ is dict and step.__class__ is str:
            value = value.get(step)
        elif value.__class__ is list and step.__class__ is int and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


KEYWORDS = frozenset({"true", "false", "and", "or", "not", "in", "is", "event"})
INFINITY = float("inf")
_NO_NULL = "null cannot be written; a missing value equals no literal"
_SPELLINGS = {
    "True": "write `true`",
    "False": "write `false`",
    "null": _NO_NULL,
    "None": _NO_NULL,
}


class CallCount(Struct, frozen=True):
    """The number of executions of a tool in this session, and the turn of the last one."""

    count: int
    last_turn: float


NEVER_CALLED = CallCount(0, -INFINITY)


class GuardView(Struct):
    """The values that a guard reads, as they were at the start of the event."""

    turn_index: int = 1
    context_tokens: int = 0
    history_length: int = 0
    last_role: str = "none"
    event_name: str | None = None
    tool_name: str | None = None
    tool_args: dict[str, Any] | None = None
    tool_status: str | None = None
    calls: Mapping[str, CallCount] = field(default_factory=dict)
    last_user: str | None = None
    last_assistant: str | None = None
    last_tool: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    now: int = 0
    fired_at: Mapping[str, int] = field(default_factory=dict)


_BUILT_IN = {
    "turn_index": Variable(INT, "turn_index"),
    "context_tokens": Variable(INT, "context_tokens"),
    "history_length": Variable(INT, "history_length"),
    "last_role": Variable(TEXT, "last_role"),
    "event.name": Variable(optional(TEXT), "event_name"),
    "event.tool.name": Variable(optional(TEXT), "tool_name"),
    "event.tool.args": Variable(optional(map_of(ANY)), "tool_args"),
    "event.tool.status": Variable(optional(TEXT), "tool_status"),
}
JSON_VALUE: Type = kind_type("null", "bool", "int", "float", "str", "list", "map")


def _text_parameter(name: str) -> Parameter:
    return Parameter(name, ("str",))


def _scope_parameter(*scopes: str) -> Parameter:
    return Parameter("scope", ("str",), literal=True, choices=scopes)


def _arg(args: Sequence[Argument], _site: int, view: str) -> str:
    path = args[0]
    if not isinstance(path.literal, str):  # its code checks that it is a text (CM-A21)
        return f"dig({view}tool_args, split_path({path.code}))"
    return f"dig({view}tool_args, {split_path(str(path.literal))!r})"


def _jsonpath(args: Sequence[Argument], _site: int, view: str) -> str:
    return f"follow({view}tool_args, {parse_jsonpath(str(args[0].literal))!r})"


def _tokens(args: Sequence[Argument], _site: int, view: str) -> str:
    scope = args[0].literal
    return f"{view}context_tokens" if scope == "context" else f"count_tokens({view}{scope} or '')"


def _text_contains(args: Sequence[Argument], _site: int, view: str) -> str:
    needle, text = args[0], f"{view}{args[1].literal}"
    if isinstance(needle.literal, str):
        return f"({text} is not None and {needle.code} in {text})"
    # Without a text the needle is still evaluated, because its code checks its kind (CM-A21).
    return f"({needle.code} in {text} if {text} is not None else {needle.code} is None)"


def _jsonpath_problem(path: str) -> tuple[Code, str] | None:
    if parse_jsonpath(path) is not None:
        return None
    return UNSUPPORTED_JSONPATH, "only `$`, members and indexes are allowed in a JSONPath"


def _inlined_function(
    parameters: tuple[Parameter, ...],
    result: Type,
    emit: Emit,
    *,
    reads_call: bool = False,
    reads_time: bool = False,
) -> Function:
    return Function(
        parameters, result, emit, inlined=True, reads_call=reads_call, reads_time=reads_time
    )


FUNCTIONS = {
    "ever_called": _inlined_function(
        (_text_parameter("tool"),), BOOL, lambda args, _, v: f"({args[0].code} in {v}calls)"
    ),
    "count_calls": _inlined_function(
        (_text_parameter("tool"),),
        INT,
        lambda args, _, v: f"{v}calls.get({args[0].code}, NEVER_CALLED).count",
    ),
    "called_since": _inlined_function(
        (_text_parameter("tool"), Parameter("n_turns", ("int", "float"))),
        BOOL,
        # CM-A17: an execution in a turn that is at most n turns back.
        lambda args, _, v: (
            f"({v}calls.get({args[0].code}, NEVER_CALLED).last_turn"
            f" >= {v}turn_index - {args[1].code})"
        ),
    ),
    "arg": _inlined_function((_text_parameter("path"),), JSON_VALUE, _arg, reads_call=True),
    "jsonpath": _inlined_function(
        (Parameter("path", ("str",), literal=True, problem=_jsonpath_problem),),
        JSON_VALUE,
        _jsonpath,
        reads_call=True,
    ),
    "text_contains": _inlined_function(
        (_text_parameter("needle"), _scope_parameter("last_user", "last_assistant", "last_tool")),
        BOOL,
        _text_contains,
    ),
    "tokens": _inlined_function(
        (_scope_parameter("context", "last_user", "last_assistant"),), INT, _tokens
    ),
    "now": _inlined_function((), INT, lambda _args, _, v: f"{v}now", reads_time=True),
    "since_ms": _inlined_function(
        (Parameter("rule_id", ("str",), literal=True, names_rule=True),),
        NUMBER,
        lambda args, _, v: f"elapsed({v}now, {v}fired_at.get({args[0].code}))",
        reads_time=True,
    ),
}


def elapsed(now: int, fired: int | None) -> float:
    """Return the milliseconds since a firing; infinity for a rule that never fired (CM-A25)."""
    return INFINITY if fired is None else now - fired


def guard_environment(
    variables: Iterable[str] = (),
    *,
    has_call: bool = True,
    rule_ids: Iterable[str] | None = None,
) -> Environment:
    """Return the environment of one guard of a file with these variables and rule ids.

    `has_call`: the event has a tool call. Without `rule_ids`, every id is accepted.
    """
    own = {name: Variable(JSON_VALUE, f"variables.get({name!r})") for name in variables}
    ids = None if rule_ids is None else frozenset(rule_ids)
    return Environment(
        {**own, **_BUILT_IN},
        FUNCTIONS,
        spellings=_SPELLINGS,
        has_call=has_call,
        rule_ids=ids,
    )


def reserved_names() -> frozenset[str]:
    """Return the names that a variable of a file cannot have (CM-A27)."""
    return KEYWORDS | frozenset(FUNCTIONS) | {name for name in _BUILT_IN if "." not in name}
