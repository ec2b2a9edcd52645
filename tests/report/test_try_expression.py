"""An expression tried on facts: the answer for machines, the diagnostics for people."""

import pytest

from bylaw.model.source import SourceFile
from bylaw.report.expression import EXPRESSION_LANGUAGES, evaluate_expression


def answer(text, dialect="toml", facts="{}"):
    return evaluate_expression(text, dialect, SourceFile("facts", facts)).answer


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(1, {3, 2})", [1, [2, 3]]),
        ("{1: 'a', None: 'b', 1.5: 'c', (1, 2): 'd'}",
         {"1": "a", "None": "b", "1.5": "c", "(1, 2)": "d"}),
        ("[{'a': (None,)}]", [{"a": [None]}]),
        ("context.user", {"id": None, "settings": {}}),
    ],
)  # fmt: skip
def test_a_value_is_given_as_json(text, value):
    assert answer(text) == {"value": value}


@pytest.mark.parametrize("text", ["1e308 * 10", "[{'a': float('nan')}]", "{float('-inf'): 1}"])
def test_a_number_that_json_cannot_say_is_an_error(text):
    error = answer(text)["error"]

    assert error["code"] == "guard-value"
    assert error["message"].endswith("which JSON cannot represent")


def test_a_refused_expression_says_so_in_its_code_and_keeps_its_diagnostics():
    trial = evaluate_expression("foo(1) + bar", "toml")

    assert trial.failed
    assert trial.answer["error"]["code"] == "load-unknown-function"
    assert [found.underlined for found in trial.diagnostics] == ["foo", "bar"]
    assert {found.source.path for found in trial.diagnostics} == {"<expression>"}


def test_a_failed_evaluation_keeps_the_warnings_of_its_expression():
    trial = evaluate_expression("1 + 'a' == 2", "chatmd")

    assert trial.failed
    assert trial.answer["error"]["code"] == "guard-type"
    assert [found.code for found in trial.diagnostics] == ["certain-type-error"]


def test_bad_facts_are_refused_like_a_bad_expression():
    trial = evaluate_expression("true", "chatmd", SourceFile("facts.json", '{"turn": 1}'))

    assert trial.answer["error"]["code"] == "load-bad-facts"
    assert [found.source.path for found in trial.diagnostics] == ["facts.json"]


@pytest.mark.parametrize("name", ["turn_start", "turn_end", "message_appended"])
def test_a_guard_has_no_call_in_an_event_without_one(name):
    facts = f'{{"event": {{"name": "{name}"}}}}'

    assert answer("arg('x') == 1", "chatmd", facts)["error"]["code"] == "load-no-call-here"
    assert answer("arg('x') == 1", "chatmd") == {"value": False}


def test_variables_of_the_facts_are_names_of_the_guard():
    assert answer("a + 1", "chatmd", '{"vars": {"a": 2}}') == {"value": 3}
    assert answer("a + 1", "chatmd")["error"]["code"] == "load-unknown-name"


@pytest.mark.parametrize("dialect", EXPRESSION_LANGUAGES)
def test_every_dialect_evaluates_without_facts(dialect):
    assert evaluate_expression("1 + 1", dialect).answer == {"value": 2}
