"""Random trees over the declared world of each language: any node anywhere, with random views."""

from hypothesis import strategies as st
from trees import clauses, compare, logic
from worlds import JSON, value_of

from bylaw.expr import condition_environment, guard_environment
from bylaw.expr.condition_environment import SHAPES, view_from_context
from bylaw.expr.conditions import parse_condition
from bylaw.expr.guard_environment import CallCount, GuardView
from bylaw.expr.guards import parse_guard
from bylaw.expr.tree import (
    Attribute,
    Binary,
    Call,
    Choice,
    Comprehension,
    Const,
    Index,
    Items,
    Keyword,
    Method,
    Pairs,
    Slice,
    Text,
    Unary,
)
from bylaw.expr.types import record
from bylaw.model.source import SourceFile, Span

TEXTS = st.sampled_from(["", "a", "name", "7", "1e9", ","])
NUMBERS = st.sampled_from([0, 1, 2, 10**400, 2**64, 1e308, 0.5, 400, 36])
CONSTANTS = st.builds(Const, TEXTS | NUMBERS | st.booleans())
COMPARISONS = ["==", "!=", "<", "<=", ">", ">=", "in"]
READ = [
    "context.turn.number", "context.turn.token_usage", "context.turn.context_usage",
    "context.history.messages", "context.history.tools", "context.history.failures",
    "context.history.messages[0]", "context.history.tools[0].success", "context.user.settings",
    "context.user.id", "context.state", "context.state.a", "context.event", "context.result",
    "context.event.payload", "context.event.payload.a", "context.result.duration_ms",
    "context.result.result", "context.turn", "context",
]  # fmt: skip
READ_BY_GUARDS = [
    "turn_index", "context_tokens", "last_role", "event.name", "event.tool.args", "a", "b",
    "event.tool.status", 'tokens("last_user")', 'text_contains("a", "last_tool")',
    "jsonpath('$.a[0]')", "now() > 3", "since_ms('r') > now() - 1", 'arg("a.0")',
]  # fmt: skip


def _parsed(parse, texts):
    return st.sampled_from([parse(SourceFile("x", text), Span(0, len(text))) for text in texts])


def _called(functions, part):
    """Calls with as many arguments as are declared."""
    return st.sampled_from([*functions.items()]).flatmap(lambda item: _call(*item, part))


def _call(name, function, part):
    by_position = [p for p in function.parameters if p.how == "position" or p.required]
    named = [p for p in function.parameters if p.how != "position" and not p.required]
    count = st.integers(function.required, len(by_position) + 2 * function.many)
    words = st.lists(st.sampled_from(named), max_size=1) if named else st.just([])
    return st.tuples(
        st.just(name),
        count.flatmap(lambda n: st.tuples(*[part] * n)),
        words.flatmap(
            lambda ps: st.tuples(*(st.builds(Keyword, st.just(p.name), part) for p in ps))
        ),
    )


def condition_nodes(part):
    some, maybe = st.lists(part, max_size=3).map(tuple), st.none() | part
    calls = _called(condition_environment.FUNCTIONS, part).map(lambda made: Call(*made))
    methods = st.tuples(part, _called(condition_environment.METHODS, part)).map(
        lambda made: Method(made[0], *made[1])
    )
    return (
        calls
        | methods
        | st.builds(Unary, st.sampled_from(["-", "+", "not"]), part)
        | st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), part, part)
        | compare(part, [*COMPARISONS, "not in"], most=2)
        | logic(part)
        | st.builds(Choice, part, part, part)
        | st.builds(Attribute, part, st.sampled_from(["a", "name"]))
        | st.builds(Index, part, part)
        | st.builds(Slice, part, maybe, maybe, maybe)
        | st.builds(Items, st.sampled_from(["list", "tuple"]), some)
        | st.builds(Items, st.just("set"), some.filter(bool))
        | st.builds(lambda key, value: Pairs((key,), (value,)), part, part)
        | st.builds(lambda name: Text((name,)), _parsed(parse_condition, READ))
        | st.builds(Comprehension, st.sampled_from(["list", "set"]), part, st.none(), clauses(part))
        | st.builds(Comprehension, st.just("map"), part, part, clauses(part))
    )


def guard_nodes(part):
    names = {"ever_called", "count_calls", "called_since", "arg"}
    known = {name: guard_environment.FUNCTIONS[name] for name in names}
    return (
        _called(known, part).map(lambda made: Call(*made))
        | st.builds(Unary, st.sampled_from(["-", "not"]), part)
        | st.builds(Binary, st.sampled_from("+-*/%"), part, part)
        | compare(part, COMPARISONS)
        | logic(part)
        | st.builds(Items, st.just("list"), st.lists(part, max_size=3).map(tuple))
    )


CONDITIONS = st.recursive(
    CONSTANTS | st.just(Const(None)) | _parsed(parse_condition, READ), condition_nodes, max_leaves=8
)
GUARDS = st.recursive(CONSTANTS | _parsed(parse_guard, READ_BY_GUARDS), guard_nodes, max_leaves=8)

_COUNTS = st.integers(0, 2**64 - 1)
_MAYBE_TEXT = st.none() | TEXTS
CONDITION_VIEWS = st.builds(
    view_from_context,
    value_of(record(SHAPES)),
    st.dictionaries(TEXTS, _COUNTS, max_size=2),
    _COUNTS,
)
GUARD_VIEWS = st.builds(
    lambda **known: GuardView(**known),  # noqa: PLW0108 - its own signature cannot be read
    turn_index=_COUNTS, context_tokens=_COUNTS, history_length=_COUNTS, last_role=TEXTS,
    event_name=_MAYBE_TEXT, tool_name=_MAYBE_TEXT, tool_status=_MAYBE_TEXT,
    tool_args=st.none() | st.dictionaries(TEXTS, JSON, max_size=3),
    calls=st.dictionaries(TEXTS, st.builds(CallCount, _COUNTS, _COUNTS), max_size=2),
    last_user=_MAYBE_TEXT, last_assistant=_MAYBE_TEXT, last_tool=_MAYBE_TEXT,
    variables=st.dictionaries(st.sampled_from("ab"), JSON), now=_COUNTS,
    fired_at=st.dictionaries(st.just("r"), _COUNTS),
)  # fmt: skip
