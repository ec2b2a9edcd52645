"""The attributes of `context` in TOML rules (TR-A18), one per line, and the types of its sections.

An attribute has the path that authors write after `context.`, a type, and the code that reads it
from session, event and slate. The view has one field for each path: the path `turn.number` is the
field `turn_number`. So an event computes only the fields that its rules read.
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
    """The type of an attribute, and the code that reads it.

    The names `s`, `e`, `l` and `n` are those of `Reader`; `condition_reader` adds the functions.
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
# Fields for functions, which `context` does not have: successes by tool, and number of messages.
TOTALS = {"completed": "s.calls.successes", "message_total": "s.history.length"}


def _shape(section: str) -> Type:
    if section in ATTRIBUTES:
        return ATTRIBUTES[section].type
    start = f"{section}."
    below = {path: one.type for path, one in ATTRIBUTES.items() if path.startswith(start)}
    return record({path.removeprefix(start): type_ for path, type_ in below.items()})


# The types of the sections of `context`; a section without its own line is built from its names.
SHAPES = {path.partition(".")[0]: _shape(path.partition(".")[0]) for path in ATTRIBUTES}
# The paths that have a field: every attribute and every section.
FIELDS = {path: path.replace(".", "_") for path in (*SHAPES, *ATTRIBUTES)}


def type_of(path: str) -> Type:
    """Return the type of a path that has a field."""
    return ATTRIBUTES[path].type if path in ATTRIBUTES else SHAPES[path]
