"""A printed tree reads back as the same tree, in both grammars."""

import pytest
from hypothesis import given, settings
from trees import CONDITIONS, GUARDS

from bylaw.expr.conditions import parse_condition
from bylaw.expr.guards import parse_guard
from bylaw.expr.tree import Const, walk
from bylaw.expr.unparse import print_condition, print_guard
from bylaw.model.source import SourceFile, Span


def whole(text):
    return SourceFile("x", text), Span(0, len(text))


def constants(tree):
    # `True == 1 == 1.0` in Python: compare kinds as well.
    return [repr(node.value) for node in walk(tree) if isinstance(node, Const)]


@settings(deadline=None, max_examples=400)
@given(GUARDS)
def test_a_printed_guard_reads_back_as_the_same_tree(tree):
    again = parse_guard(*whole(print_guard(tree)))

    assert tree == again
    assert constants(tree) == constants(again)


@settings(deadline=None, max_examples=400)
@given(CONDITIONS)
def test_a_printed_condition_reads_back_as_the_same_tree(tree):
    again = parse_condition(*whole(print_condition(tree)))

    assert tree == again
    assert constants(tree) == constants(again)


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("((1)+(2))*3", "(1 + 2) * 3"),
        ("not (true and (false))", "not (true and false)"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a-b)-c", "a - b - c"),
        ("(a and b) and c", "(a and b) and c"),
        ("-(-a)", "--a"),
    ],
)
def test_no_more_parentheses_than_needed(written, printed):
    assert printed == print_guard(parse_guard(*whole(written)))
