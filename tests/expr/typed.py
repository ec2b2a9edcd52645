"""Random trees that mostly have a value: numbers, texts, booleans and lists kept apart."""

from hypothesis import strategies as st

from bylaw.expr.condition_environment import FUNCTIONS, METHODS
from bylaw.expr.environment import Environment, Variable
from bylaw.expr.guard_environment import GuardView, guard_environment
from bylaw.expr.tree import (
    Binary,
    Call,
    Choice,
    Clause,
    Compare,
    Comprehension,
    Const,
    Index,
    Items,
    Logic,
    Method,
    Name,
    Slice,
    Text,
    Unary,
)
from bylaw.expr.types import ANY

VALUES = {"n": 7, "m": -3, "x": 2.5, "s": "Hello", "t": "", "yes": True, "l": [3, 1, 2]}
HELPERS = {"tool_completed", "tool_failed", "failure_count", "context_above_threshold",
           "message_count_above"}  # fmt: skip

# The same names in both languages, with nothing known of their types.
GUARD_WORLD = guard_environment(VALUES)
GUARD_VALUES = GuardView(variables=VALUES)
CONDITION_WORLD = Environment(
    {name: Variable(ANY, name) for name in VALUES},
    {name: function for name, function in FUNCTIONS.items() if name not in HELPERS},
    METHODS,
    strict=False,
)

ORDER = ["==", "!=", "<", "<=", ">", ">="]
SHARED_NUMBERS = st.builds(Const, st.integers(0, 20) | st.floats(0, 9, width=16)) | st.builds(
    Name, st.sampled_from("nmx")
)
SHARED_TEXTS = st.builds(Const, st.sampled_from(["", "a", "Hello", "é\n'\""])) | st.builds(
    Name, st.sampled_from("st")
)
SHARED_BOOLEANS = st.builds(Const, st.booleans()) | st.just(Name("yes"))


def some(part, least=0):
    return st.lists(part, min_size=least, max_size=3).map(tuple)


def compared(part, ops):
    return st.builds(lambda a, op, b: Compare(a, (op,), (b,)), part, st.sampled_from(ops), part)


def shared(depth):
    """Numbers, texts and booleans that both grammars can say."""
    if depth == 0:
        return SHARED_NUMBERS, SHARED_TEXTS, SHARED_BOOLEANS
    numbers, texts, booleans = shared(depth - 1)
    lists = st.builds(Items, st.just("list"), some(numbers) | some(texts))
    return (
        numbers
        | st.builds(Binary, st.sampled_from("+-*/%"), numbers, numbers)
        | st.builds(Unary, st.just("-"), numbers),
        texts | st.builds(Binary, st.just("+"), texts, texts),
        booleans
        | compared(numbers, ORDER)
        | compared(texts, ORDER)
        | st.builds(Logic, st.sampled_from(["and", "or"]), some(booleans, 2))
        | st.builds(Unary, st.just("not"), booleans)
        | st.builds(lambda a, b: Compare(a, ("in",), (b,)), numbers | texts, lists),
    )


def wide(depth):
    """Numbers, texts, booleans and lists of conditions."""
    if depth == 0:
        return (*shared(0), st.just(Name("l")))
    numbers, texts, booleans, lists = wide(depth - 1)
    anything = numbers | texts | booleans | lists
    call = lambda names, *parts: st.builds(  # noqa: E731 - reads as a table below
        Call, st.sampled_from(names), st.tuples(*parts)
    )
    method = lambda names, owner, *parts: st.builds(  # noqa: E731
        Method, owner, st.sampled_from(names), st.tuples(*parts)
    )
    loop = st.builds(
        lambda it, test: (Clause(("e",), False, it, test),),
        lists,
        some(booleans).map(lambda c: c[:1]),
    )
    return (
        numbers
        | st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "//", "%", "**"]), numbers, numbers)
        | st.builds(Unary, st.sampled_from("+-"), numbers)
        | st.builds(Choice, booleans, numbers, numbers)
        | call(["len"], lists | texts)
        | call(["abs", "round", "int", "float"], numbers)
        | call(["sum", "min", "max"], lists)
        | call(["min", "max"], numbers, numbers)
        | st.builds(Index, lists, numbers)
        | method(["count"], texts, texts)
        | method(["count"], lists, numbers),
        texts
        | st.builds(Binary, st.just("+"), texts, texts)
        | st.builds(Binary, st.just("*"), texts, numbers)
        | call(["str"], anything)
        | method(["lower", "upper", "strip"], texts)
        | method(["replace"], texts, texts, texts)
        | method(["join"], texts, method(["split"], texts))
        | st.builds(Slice, texts, st.none() | numbers, st.none() | numbers, st.none())
        | st.builds(Text, some(st.builds(Name, st.sampled_from("nmx")), 1)),
        booleans
        | compared(numbers, ORDER)
        | compared(texts, ORDER)
        | compared(lists, ORDER)
        | st.builds(lambda a, o, p, b, c: Compare(a, (o, p), (b, c)), numbers,
                    st.sampled_from(ORDER), st.sampled_from(ORDER), numbers, numbers)
        | st.builds(Logic, st.sampled_from(["and", "or"]), some(anything, 2))
        | st.builds(Unary, st.just("not"), anything)
        | st.builds(lambda a, o, b: Compare(a, (o,), (b,)), numbers | texts,
                    st.sampled_from(["in", "not in"]), lists)
        | st.builds(lambda a, o: Compare(a, (o,), (Const(None),)), anything,
                    st.sampled_from(["is", "is not"]))
        | call(["any", "all"], lists)
        | call(["bool"], anything)
        | method(["startswith", "endswith"], texts, texts),
        lists
        | st.builds(Items, st.sampled_from(["list", "tuple"]), some(numbers))
        | st.builds(Binary, st.just("+"), lists, lists)
        | call(["sorted"], lists)
        | st.builds(Slice, lists, st.none() | numbers, st.none() | numbers, st.none() | numbers)
        | st.builds(lambda e, c: Comprehension("list", e, None, c),
                    numbers | st.just(Name("e")), loop),
    )  # fmt: skip
