"""The names that random trees read: once with nothing known of them, once with declared types."""

from types import SimpleNamespace

from hypothesis import strategies as st

from bylaw.expr.condition_environment import FUNCTIONS, METHODS
from bylaw.expr.guard_environment import JSON_VALUE
from bylaw.expr.types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    TEXT,
    Environment,
    Variable,
    list_of,
    map_of,
    optional,
    record,
)

RECORD = record(
    {"name": TEXT, "size": INT, "cost": optional(FLOAT), "tags": list_of(TEXT), "note": ANY}
)
TYPES = {
    "n": INT, "m": INT, "x": FLOAT, "o": optional(FLOAT), "p": optional(FLOAT),
    "s": TEXT, "t": TEXT, "yes": BOOL,
    "l": list_of(INT), "d": map_of(INT), "r": RECORD, "rs": list_of(RECORD),
}  # fmt: skip
ONE = {"name": "Hello", "size": 3, "cost": 0.5, "tags": ["a", "Hello"], "note": None}
TWO = {"name": "", "size": -1, "cost": None, "tags": [], "note": [1, "a"]}
VALUES = {
    "n": 7, "m": -3, "x": 2.5, "o": None, "p": 0.5, "s": "Hello", "t": "", "yes": True,
    "l": [3, 1, 2], "d": {"a": 1, "Hello": 2}, "r": ONE, "rs": [ONE, TWO],
}  # fmt: skip
# The largest that a host hands over where whole numbers are declared.
EXTREME = {
    **VALUES, "n": 2**64 - 1, "m": 1 - 2**64, "x": 1e150, "o": -0.0, "l": [2**64 - 1, 0, 1 - 2**64],
    "d": {"": 2**64 - 1}, "rs": [],
}  # fmt: skip
# What reads the view of an event; the functions that both languages' oracles lack.
HELPERS = {"tool_completed", "tool_failed", "failure_count", "context_above_threshold",
           "message_count_above"}  # fmt: skip
_FUNCTIONS = {name: function for name, function in FUNCTIONS.items() if name not in HELPERS}


def conditions(types):
    names = {name: Variable(type_, name) for name, type_ in types.items()}
    return Environment(names, _FUNCTIONS, METHODS, strict=False)


def guards(types):
    return Environment({name: Variable(type_, name) for name, type_ in types.items()}, {})


CONDITION_WORLDS = {"untyped": conditions(dict.fromkeys(TYPES, ANY)), "typed": conditions(TYPES)}
GUARD_WORLDS = {"untyped": guards(dict.fromkeys(TYPES, JSON_VALUE)), "typed": guards(TYPES)}


def view(values):
    return SimpleNamespace(**values)


SCALARS = {
    "null": st.none(),
    "bool": st.booleans(),
    "int": st.integers(-3, 99) | st.sampled_from([2**64 - 1, 1 - 2**64]),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "str": st.sampled_from(["", "a", "Hello", "7", "é\n'\"", "\ud800"]) | st.text(max_size=4),
}
JSON = st.recursive(
    st.one_of(*SCALARS.values()) | st.integers(),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(SCALARS["str"], part, max_size=3),
    max_leaves=6,
)


def value_of(type_):
    """A random value of a declared type; JSON where nothing is declared."""
    if type_.kinds >= JSON_VALUE.kinds:
        return JSON
    inner = value_of(type_.item or JSON_VALUE)
    maps = st.dictionaries(SCALARS["str"], inner, max_size=3)
    if type_.fields is not None:
        maps = st.fixed_dictionaries({name: value_of(f) for name, f in type_.fields.items()})
    kinds = {**SCALARS, "list": st.lists(inner, max_size=3), "map": maps}
    return st.one_of(*(kinds[kind] for kind in sorted(type_.kinds)))
