"""The short words in which the tests load and evaluate expressions."""

import json

import pytest

from bylaw.expr.expression import load_condition, load_guard
from bylaw.expr.guard_environment import GuardView, guard_environment
from bylaw.model.errors import GuardError, LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.report.expression import condition_view


def whole(text):
    return SourceFile("x", text), Span(0, len(text))


def condition(text):
    return load_condition(*whole(text))


def guard(text, **environment):
    return load_guard(*whole(text), guard_environment(**environment))


def value_of_condition(text, **context):
    return condition(text).evaluate(
        condition_view(SourceFile("f", json.dumps({"context": context})))
    )


def value_of_guard(text, **variables):
    return guard(text, variables=variables).evaluate(GuardView(variables=variables))


def failure(evaluate, *args, **facts):
    """The code and message of the GuardError that this ends in."""
    with pytest.raises(GuardError) as caught:
        evaluate(*args, **facts)
    return caught.value.code, caught.value.message


def refusals(load, *args, **environment):
    """The code, underlined text and help of each error at load."""
    with pytest.raises(LoadError) as caught:
        load(*args, **environment)
    return [shown(diagnostic) for diagnostic in caught.value.diagnostics]


def shown(diagnostic):
    return diagnostic.code, diagnostic.underlined, diagnostic.help
