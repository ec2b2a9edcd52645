"""One tree, two grammars: they agree where they overlap, and with simpleeval where it applies.

Every tree is evaluated twice, with nothing known of its names and with declared types: what the
compiler makes of a type must not change any value.
"""

import ast
import copy
import math
import warnings

import simpleeval
from hypothesis import given, settings
from hypothesis import strategies as st
from typed import Wide, shared
from worlds import CONDITION_WORLDS, EXTREME, GUARD_WORLDS, VALUES, view

from bylaw.expr.check import check
from bylaw.expr.conditions import parse_condition
from bylaw.expr.expression import Expression, load_guard
from bylaw.expr.limits import MAX_ROUND_DIGITS
from bylaw.expr.unparse import print_condition, print_guard
from bylaw.model.errors import GuardError, LoadError
from bylaw.model.source import SourceFile, Span

SHARED = st.one_of(*shared(3))
WIDE = Wide(3).whole()
PICKED = Wide(0).picked()
VIEWS = st.sampled_from([VALUES, EXTREME])
FAILED = object()
LIMITS = {"guard-too-large", "guard-budget", "expression-too-deep", "expression-too-long"}
# Found at load, where simpleeval finds it when it gets there, if ever.
MISTAKES = {"unknown-attribute", "wrong-arguments"}
ORACLE_LIMITS = (simpleeval.NumberTooHigh, simpleeval.IterableTooLong)

# Python counts how often with a machine word, even where it makes no difference.
MACHINE_WORDS = ("index-sized", "too large to convert to C")


def one_after_the_other(values, start=0):
    """`sum` of numbers as every Python did it before 3.12: floats are added in order."""
    if not isinstance(start, int | float):
        raise TypeError(start)
    for value in values:
        start = start + value
    return start


def real_power(base, exponent):
    """`**` where it stays a number."""
    result = simpleeval.safe_power(base, exponent)
    if isinstance(result, complex):
        raise TypeError(result)
    return result


def rounded(value, ndigits=None):
    """`round` as far as we do it, too."""
    if isinstance(ndigits, int) and abs(ndigits) > MAX_ROUND_DIGITS:
        raise simpleeval.NumberTooHigh
    return round(value, ndigits)


ORACLE_FUNCTIONS = {
    "int": int, "float": float, "str": str, "bool": bool, "len": len, "abs": abs, "min": min,
    "max": max, "round": rounded, "sum": one_after_the_other, "any": any, "all": all,
    "sorted": sorted,
}  # fmt: skip


def load_condition(source, span, world):
    """A condition over other names than those of a context."""
    checked = check(source, parse_condition(source, span), world)
    return Expression(lambda: checked, span)


def outcome(load, text, world, values):
    """The value, or the code of the reason why there is none."""
    try:
        return load(SourceFile("x", text), Span(0, len(text)), world).evaluate(view(values)), None
    except GuardError as failed:
        return FAILED, failed.code
    except LoadError as refused:
        return FAILED, refused.diagnostics[0].code


def oracle(text, values):
    """The value that simpleeval gives, or FAILED."""
    names = {**copy.deepcopy(values), "True": True, "False": False, "None": None}
    evaluator = simpleeval.EvalWithCompoundTypes(functions=dict(ORACLE_FUNCTIONS), names=names)
    evaluator.operators[ast.Pow] = real_power
    # The one kind of comprehension that it lacks.
    evaluator.nodes[ast.SetComp] = lambda node: set(evaluator._eval_comprehension(node))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(evaluator.eval(text))
        except ORACLE_LIMITS:
            raise
        except OverflowError as problem:
            if any(words in str(problem) for words in MACHINE_WORDS):
                raise simpleeval.NumberTooHigh from None
            return FAILED
        except Exception:  # noqa: BLE001 - whatever Python raises
            return FAILED


def plain(value):
    """As a value leaves an evaluation: sets in order, tuples and views as lists."""
    if isinstance(value, set):
        value = sorted(value, key=lambda item: (item is not None, isinstance(item, str), item))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    views = (list, tuple, type({}.keys()), type({}.values()), type({}.items()))
    return [plain(item) for item in value] if isinstance(value, views) else value


def identical(left, right):
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(identical, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return identical(list(left.items()), list(right.items()))
    if isinstance(left, tuple) and isinstance(right, tuple):
        return identical(list(left), list(right))
    return type(left) is type(right) and left == right


def check_against_simpleeval(text, values):
    found = {
        name: outcome(load_condition, text, world, values)
        for name, world in CONDITION_WORLDS.items()
    }
    if any(code in LIMITS for _, code in found.values()):
        return  # Python would go on, perhaps for long
    try:
        wanted = oracle(text, values)
    except ORACLE_LIMITS:
        wanted = found["untyped"][0]
    for name, (value, code) in found.items():
        assert code in MISTAKES or identical(value, wanted), (
            f"{name}: {text} is {code or value!r}, not {wanted!r}"
        )


@settings(deadline=None, max_examples=1500)
@given(WIDE, VIEWS)
def test_a_condition_has_a_value_exactly_when_simpleeval_has_it_and_the_same(tree, values):
    check_against_simpleeval(print_condition(tree), values)


@settings(deadline=None, max_examples=1000)
@given(PICKED, VIEWS)
def test_what_went_through_a_container_has_the_same_value(tree, values):
    check_against_simpleeval(print_condition(tree), values)


@settings(deadline=None, max_examples=500)
@given(SHARED, VIEWS)
def test_the_two_grammars_agree_where_they_overlap(tree, values):
    guard, condition = print_guard(tree), print_condition(tree)
    found = [outcome(load_guard, guard, world, values)[0] for world in GUARD_WORLDS.values()]
    found += [
        outcome(load_condition, condition, world, values)[0] for world in CONDITION_WORLDS.values()
    ]

    assert all(identical(found[0], other) for other in found[1:]), (guard, found)


@settings(deadline=None, max_examples=300)
@given(WIDE)
def test_no_expression_changes_its_input(tree):
    values, text = copy.deepcopy(VALUES), print_condition(tree)
    first, second = (outcome(load_condition, text, CONDITION_WORLDS["typed"], values) for _ in "12")

    assert values == VALUES
    assert identical(first[0], second[0])


def test_most_random_expressions_have_a_value():
    """The properties above would say little if everything were refused."""
    seen = []

    @settings(deadline=None, max_examples=300, database=None, derandomize=True)
    @given(WIDE)
    def count(tree):
        text = print_condition(tree)
        seen.append(outcome(load_condition, text, CONDITION_WORLDS["typed"], VALUES)[1] is None)

    count()

    assert sum(seen) > 0.5 * len(seen)
