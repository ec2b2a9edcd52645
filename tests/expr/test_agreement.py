"""One tree, two grammars: they agree where they overlap, and with simpleeval where it applies."""

import copy
import math
import warnings
from types import SimpleNamespace

import simpleeval
from hypothesis import given, settings
from hypothesis import strategies as st
from typed import CONDITION_WORLD, GUARD_VALUES, GUARD_WORLD, VALUES, shared, wide

from bylaw.expr.expression import load_condition, load_guard
from bylaw.expr.printing import print_condition, print_guard
from bylaw.model.errors import GuardError, LoadError
from bylaw.model.source import SourceFile, Span

SHARED = st.one_of(*shared(3))
WIDE = st.one_of(*wide(3))
FAILED = object()
ORACLE_FUNCTIONS = {
    "int": int, "float": float, "str": str, "bool": bool, "len": len, "abs": abs, "min": min,
    "max": max, "round": round, "sum": sum, "any": any, "all": all, "sorted": sorted,
}  # fmt: skip


def guard(tree):
    text = print_guard(tree)
    try:
        return load_guard(SourceFile("g", text), Span(0, len(text)), GUARD_WORLD).evaluate(
            GUARD_VALUES
        )
    except GuardError:
        return FAILED


def condition(text, values=VALUES):
    try:
        loaded = load_condition(SourceFile("c", text), Span(0, len(text)), CONDITION_WORLD)
        return loaded.evaluate(SimpleNamespace(**values))
    except (GuardError, LoadError):
        return FAILED


def oracle(text):
    evaluator = simpleeval.EvalWithCompoundTypes(
        functions=dict(ORACLE_FUNCTIONS), names={**copy.deepcopy(VALUES), "True": True,
                                                 "False": False, "None": None}
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plain(evaluator.eval(text))


def plain(value):
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def identical(left, right):
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(identical, left, right))
    return type(left) is type(right) and left == right


@settings(deadline=None, max_examples=500)
@given(SHARED)
def test_the_two_grammars_agree_where_they_overlap(tree):
    of_guard, of_condition = guard(tree), condition(print_condition(tree))

    assert identical(of_guard, of_condition) or of_guard is of_condition is FAILED


@settings(deadline=None, max_examples=1000)
@given(WIDE)
def test_a_condition_has_the_value_that_simpleeval_gives_or_is_refused(tree):
    text = print_condition(tree)

    ours = condition(text)

    assert ours is FAILED or identical(ours, oracle(text))


@settings(deadline=None, max_examples=300)
@given(WIDE)
def test_no_expression_changes_its_input(tree):
    values = copy.deepcopy(VALUES)

    first = condition(print_condition(tree), values)
    second = condition(print_condition(tree), values)

    assert values == VALUES
    assert first is second is FAILED or identical(first, second)


def test_most_random_expressions_have_a_value():
    """The properties above would say little if everything were refused."""
    seen = []

    @settings(deadline=None, max_examples=300, database=None, derandomize=True)
    @given(WIDE)
    def count(tree):
        seen.append(condition(print_condition(tree)) is not FAILED)

    count()

    assert sum(seen) > 0.5 * len(seen)
