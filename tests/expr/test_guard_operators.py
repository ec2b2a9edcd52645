"""Operators of guards convert nothing, at any depth, and name what they met (CM-A21)."""

import copy
import json

import pytest
from asking import failure, value_of_guard
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import JSON

from bylaw.expr.guard_operators import same
from bylaw.expr.limits import MAX_STEPS
from bylaw.model.source import SourceFile
from bylaw.report.expression import evaluate_expression

DEEPEST = 100  # as deep as an event may be


def wrapped(value, depth, in_map):
    """The value inside lists, or maps by turns, so many levels down."""
    for level in range(depth):
        value = {"k": value} if in_map and level % 2 else [value]
    return value


def strictly(value):
    """A text that is the same for the same values: numbers by size, booleans apart from them."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, int | float):
        whole = isinstance(value, int) or value.is_integer()
        return repr(int(value)) if whole else repr(value)
    if isinstance(value, list):
        return f"[{','.join(map(strictly, value))}]"
    return f"{{{','.join(json.dumps(key) + strictly(value[key]) for key in sorted(value))}}}"


@settings(deadline=None)
@given(JSON, JSON, st.integers(0, DEEPEST), st.booleans())
def test_values_are_the_same_when_their_parts_are(left, right, depth, in_map):
    """CM-A21"""
    a, b = wrapped(left, depth, in_map), wrapped(right, depth, in_map)
    expected = strictly(left) == strictly(right)

    assert value_of_guard("a == b", a=a, b=copy.deepcopy(a))
    assert value_of_guard("a == b", a=a, b=b) is expected
    assert value_of_guard("a != b", a=a, b=b) is not expected
    assert value_of_guard("a in [1, b]", a=a, b=b) is (expected or strictly(a) == "1")


@pytest.mark.parametrize(
    ("left", "right"),
    [(True, 1), (False, 0), (0, False), ([1], [True]), ({"a": 0}, {"a": False}), (None, False),
     ("", None), ([], {}), ({"a": None}, {}), ("1", 1), ([1, 2], [2, 1])],
)  # fmt: skip
def test_nothing_is_converted(left, right):
    assert not same(left, right, MAX_STEPS)
    assert same(left, left, MAX_STEPS)


@pytest.mark.parametrize(("left", "right"), [(1, 1.0), ([1], [1.0]), (2**60, float(2**60))])
def test_numbers_are_equal_by_size(left, right):
    assert same(left, right, MAX_STEPS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a + 1", "`+` needs two numbers or two texts; `a` is true, `1` is the number 1"),
        ("1 - a", "`-` needs two numbers; `1` is the number 1, `a` is true"),
        ("a < 2", "`<` needs two numbers or two texts; `a` is true, `2` is the number 2"),
        ("'x' >= a", "`>=` needs two numbers or two texts; `'x'` is the text \"x\", `a` is true"),
        ("-a", "`-` needs a number; `a` is true"),
        ("b and a", "a boolean is needed; `b` is a list of 1"),
        ("not b", "a boolean is needed; `b` is a list of 1"),
        ("1 in a", "`in` needs a list on its right; `1` is the number 1, `a` is true"),
        ("ever_called(b)", "a text is needed; `b` is a list of 1"),
        ("1 / (2 - 2)", "division by zero; `1` is the number 1, `2 - 2` is the number 0"),
    ],
)
def test_a_failure_names_each_operand_with_its_own_value(text, message):
    _, found = failure(value_of_guard, text, a=True, b=[1])

    assert found.endswith(f": {message}")


LONG = json.dumps({"vars": {"a": [2] * 150_000, "b": [2] * 150_000}})


@pytest.mark.parametrize(
    "guard", [" or ".join(["1 in a"] * 50), " and ".join(["a == b"] * 50)], ids=["in", "equal"]
)
def test_comparisons_share_the_budget_of_their_guard(guard):
    trial = evaluate_expression(guard, "chatmd", SourceFile("facts", LONG))

    assert trial.answer["error"]["code"] == "guard-budget"


def test_one_comparison_may_use_all_of_it():
    trial = evaluate_expression("a == b", "chatmd", SourceFile("facts", LONG))

    assert trial.answer == {"value": True}


def test_a_joined_text_has_a_limit():
    long = json.dumps({"vars": {"a": "x" * 60_000}})
    trial = evaluate_expression("a + a == 'x'", "chatmd", SourceFile("facts", long))

    assert trial.answer["error"]["code"] == "guard-too-large"
