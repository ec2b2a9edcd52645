"""A loaded expression gives a value or a GuardError, whatever the event holds."""

import pytest
from hypothesis import given, settings
from wild import CONDITION_VIEWS, CONDITIONS, GUARD_VIEWS, GUARDS

from bylaw.expr.expression import load_condition, load_guard
from bylaw.expr.guard_environment import guard_environment
from bylaw.expr.unparse import print_condition, print_guard
from bylaw.model.errors import GuardError, LoadError
from bylaw.model.source import SourceFile, Span

GUARD_WORLD = guard_environment(["a", "b"])


def condition(tree):
    text = print_condition(tree)
    return load_condition(SourceFile("c", text), Span(0, len(text)))


def guard(tree):
    text = print_guard(tree)
    return load_guard(SourceFile("g", text), Span(0, len(text)), GUARD_WORLD)


def ended(load, tree, view):
    """How it ended; any other exception is a failure of the test."""
    try:
        loaded = load(tree)
    except LoadError:
        return "refused"
    try:
        loaded.evaluate(view)
    except GuardError:
        return "failed"
    return "value"


@settings(deadline=None, max_examples=600)
@given(CONDITIONS, CONDITION_VIEWS)
def test_nothing_but_a_guard_error_leaves_a_condition(tree, view):
    ended(condition, tree, view)


@settings(deadline=None, max_examples=600)
@given(GUARDS, GUARD_VIEWS)
def test_nothing_but_a_guard_error_leaves_a_guard(tree, view):
    ended(guard, tree, view)


@pytest.mark.parametrize(
    ("load", "trees", "views"),
    [(condition, CONDITIONS, CONDITION_VIEWS), (guard, GUARDS, GUARD_VIEWS)],
)
def test_the_properties_look_at_values_and_failures(load, trees, views):
    """They would say little if most expressions were refused."""
    seen = []

    @settings(deadline=None, max_examples=150, database=None, derandomize=True)
    @given(trees, views)
    def count(tree, view):
        seen.append(ended(load, tree, view))

    count()

    assert seen.count("value") > 0.1 * len(seen)
    assert seen.count("failed") > 0.1 * len(seen)
