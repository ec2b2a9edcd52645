"""What the `context` of TOML rules holds (TR-A18): one line an attribute, and what follows from it.

An attribute has the path that authors write behind `context.`, a type, and the code that reads it
from session, event and slate. Who evaluates has a view with a field for each path: the path
`turn.number` is the field `turn_number`, so that an event costs what its rules read and no more.
"""

from __future__ import annotations

from typing import NamedTuple

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


class Attribute(NamedTuple):
    """Its type, and the code that reads it.

    What `s`, `e`, `l` and `n` are is said in `expression_guard.py`; the functions stand in
    `condition_reader.py`; `{space!r}` is where the state of the rule's plugin lies.
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
        "success": optional(BOOL),  # null while nobody knows how it ended
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
    "turn.number": Attribute(INT, "s.turn_during(e.kind)"),
    "turn.token_usage": Attribute(optional(FLOAT), f"share_of({_TOKENS}, e.facts.token_budget)"),
    "turn.context_usage": Attribute(
        optional(FLOAT), f"share_of({_TOKENS}, e.facts.context_window)"
    ),
    "turn.iteration_count": Attribute(INT, "s.turns_since_prompt(e.kind)"),
    "history.messages": Attribute(list_of(_MESSAGE), "messages_of(s.history)"),
    "history.tools": Attribute(list_of(_TOOL), "tools_of(s.calls)"),
    "history.failures": Attribute(map_of(INT), "s.calls.failures"),
    "history.total_tool_calls": Attribute(INT, "s.calls.all.count"),
    "history.total_failures": Attribute(INT, "s.calls.total_failures"),
    "user": Attribute(_PARTY, "party(e.facts.user)"),
    "project": Attribute(_PARTY, "party(e.facts.project)"),
    "state": Attribute(map_of(ANY, missing_is_null=True), "l.space({space!r})"),
    "event": Attribute(optional(_EVENT), "event_of(e, n)"),
    "result": Attribute(optional(_RESULT), "result_of(e)"),
}
# Fields for helpers: how often a tool succeeded, and all messages, which `context` does not hold.
TOTALS = {"completed": "s.calls.successes", "message_total": "s.history.length"}


def _shape(section: str) -> Type:
    if section in ATTRIBUTES:
        return ATTRIBUTES[section].type
    start = f"{section}."
    below = {path: one.type for path, one in ATTRIBUTES.items() if path.startswith(start)}
    return record({path.removeprefix(start): type_ for path, type_ in below.items()})


# The sections of `context`; those without a line of their own are made name by name.
SHAPES = {path.partition(".")[0]: _shape(path.partition(".")[0]) for path in ATTRIBUTES}
# The paths that have a field: every attribute, and every section as a whole.
FIELDS = {path: path.replace(".", "_") for path in (*SHAPES, *ATTRIBUTES)}


def type_of(path: str) -> Type:
    """The type of a path that has a field."""
    return ATTRIBUTES[path].type if path in ATTRIBUTES else SHAPES[path]
