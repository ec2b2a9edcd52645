"""What is declared of a function or method is what its implementation takes."""

import inspect
import re

import pytest

from bylaw.expr import builtins
from bylaw.expr.compile import runtime_names
from bylaw.expr.condition_environment import FUNCTIONS, METHODS
from bylaw.expr.types import Argument

BUDGET_AND_SITE = 2
CALLED = re.compile(r"(\w+)\(B, 0, a\)")


def implementations():
    """Every function that is called with its arguments, and every method for each kind of owner."""
    for name, function in FUNCTIONS.items():
        found = CALLED.fullmatch(function.emit([Argument("a")], 0, "v."))
        if found:
            yield pytest.param(function, runtime_names()[found[1]], BUDGET_AND_SITE, id=name)
    for name, method in METHODS.items():
        for owner, implementation in builtins.METHODS[name].items():
            place = f"{owner.__name__}.{name}"
            yield pytest.param(method, implementation, BUDGET_AND_SITE + 1, id=place)


@pytest.mark.parametrize(("declared", "implementation", "before"), [*implementations()])
def test_every_parameter_can_be_given_as_it_is_declared(declared, implementation, before):
    signature = inspect.signature(implementation)
    by_position = [p.name for p in declared.parameters if p.how != "keyword"]
    by_keyword = [p.name for p in declared.parameters if p.how != "position"]
    required = [p.name for p in declared.parameters if p.required]
    first = [None] * before

    assert signature.bind(*first, *by_position)
    assert signature.bind(*first, *required)
    for name in by_keyword:
        given = by_position[: by_position.index(name)] if name in by_position else by_position
        assert signature.bind(*first, *given, **{name: None})


def test_what_reads_the_view_in_place_takes_no_keywords():
    """Its arguments are tested by position, before they stand in the code."""
    inlined = [function for function in FUNCTIONS.values() if function.inlined]

    assert inlined
    assert {p.how for function in inlined for p in function.parameters} == {"position"}


def test_every_method_is_declared_for_the_kinds_that_have_it():
    kinds = {"dict": "map"}
    for name, method in METHODS.items():
        owners = {kinds.get(kind.__name__, kind.__name__) for kind in builtins.METHODS[name]}
        assert set(method.owners) == owners
