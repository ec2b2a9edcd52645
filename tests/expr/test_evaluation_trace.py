"""The parts of an expression with the values that one evaluation met."""

import pytest
from hypothesis import given, settings
from wild import CONDITION_VIEWS, CONDITIONS, GUARD_VIEWS, GUARDS

from bylaw.expr.evaluation_trace import MAX_DEPTH, MAX_PARTS, State, explain
from bylaw.expr.expression import load_condition, load_guard
from bylaw.expr.guard_environment import GuardView, guard_environment
from bylaw.expr.unparse import print_condition, print_guard
from bylaw.model.errors import GuardError, LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.report.expression import condition_view

USAGE = '{"context": {"turn": {"token_usage": 0.85}, "history": {"total_tool_calls": 3}}}'


def condition(text, facts="{}"):
    source = SourceFile("a.toml", text)
    loaded = load_condition(source, Span(0, len(text)))
    return explain(loaded, condition_view(SourceFile("facts.json", facts)))


def guard(text, **facts):
    source = SourceFile("a.chatmd", text)
    return explain(load_guard(source, Span(0, len(text)), guard_environment()), GuardView(**facts))


def tree(part):
    """Text, value and what is below; a part without a value tells its state."""
    found = part.value if part.state is State.VALUE else part.state
    return (part.text, found, *map(tree, part.parts))


def every(part):
    yield part
    for one in part.parts:
        yield from every(one)


class TestConditions:
    def test_values_that_it_read_and_what_came_of_them(self):
        text = "context.turn.token_usage > 0.8 and context.history.total_tool_calls > 5"
        assert tree(condition(text, USAGE).part) == (
            text,
            False,
            (
                "context.turn.token_usage > 0.8",
                True,
                ("context.turn.token_usage", 0.85),
            ),
            (
                "context.history.total_tool_calls > 5",
                False,
                ("context.history.total_tool_calls", 3),
            ),
        )

    def test_what_short_circuit_leaves_out(self):
        found = condition("context.turn.number > 5 and context.turn.number < 9 or 1 == 1")
        left_out = [part.text for part in every(found.part) if part.state is State.NOT_EVALUATED]
        assert left_out == ["context.turn.number < 9"]

    def test_the_branch_that_was_not_taken(self):
        found = condition("(context.turn.number if 1 < 2 else context.turn.token_usage) == 0")
        states = {part.text: part.state for part in every(found.part)}
        assert states["context.turn.token_usage"] is State.NOT_EVALUATED
        assert states["context.turn.number"] is State.VALUE

    def test_a_chain_stops_where_it_is_false(self):
        found = condition("1 < context.turn.number < context.history.total_failures")
        assert tree(found.part)[2:] == (
            ("context.turn.number", 0),
            ("context.history.total_failures", State.NOT_EVALUATED),
        )

    def test_the_beginning_of_a_path_is_told_only_if_the_path_fails(self):
        facts = '{"context": {"event": {"payload": {"tool_name": "x"}}}}'
        text = "context.event.payload.tool_name == 'x'"
        assert tree(condition(text, facts).part)[2:] == (("context.event.payload.tool_name", "x"),)
        failed = condition(text, '{"context": {"event": {"payload": {}}}}').part.parts[0]
        assert (failed.state, tree(failed)[2:]) == (
            State.FAILED,
            (("context.event.payload", {}),),
        )
        assert "key `tool_name` not found" in failed.error

    def test_a_loop_tells_what_it_went_over_and_what_came_of_it(self):
        facts = '{"context": {"history": {"failures": {"a": 1}}}}'
        found = condition("any(n == 'a' for n in context.history.failures)", facts)
        assert [part.text for part in every(found.part)] == [
            "any(n == 'a' for n in context.history.failures)",
            "(n == 'a' for n in context.history.failures)",
            "context.history.failures",
        ]
        assert found.part.value is True

    def test_constants_say_everything_themselves(self):
        assert condition("1 in [1, 2] and -3 < 2").part.parts[0].parts == ()

    def test_what_is_no_boolean(self):
        found = condition("context.turn.number + 1")
        assert found.part.value == 1
        assert "not true or false" in found.error

    def test_over_budget(self):
        loop = "len([1 for a in range_ for b in range_ for c in range_]) > 0"
        text = loop.replace("range_", f"[{'1, ' * 99}]")
        found = condition(text)
        assert (found.part.state, "steps" in found.error) == (State.FAILED, True)


class TestGuards:
    def test_values(self):
        found = guard("not (turn_index == 3) and history_length > 1", turn_index=4)
        assert tree(found.part)[1:] == (
            False,
            ("not (turn_index == 3)", True, ("turn_index == 3", False, ("turn_index", 4))),
            ("history_length > 1", False, ("history_length", 0)),
        )

    def test_the_part_that_failed(self):
        found = guard("turn_index == 1 and (last_role and true)", turn_index=1)
        failed = [part for part in every(found.part) if part.error]
        assert [(part.text, part.state) for part in failed] == [("last_role", State.VALUE)]
        assert found.error == failed[0].error


class TestLimits:
    def test_a_deep_expression_tells_its_upper_parts_and_what_it_read(self):
        text = "(" * 45 + "context.turn.number" + " + 1)" * 45 + " > 1"
        found = list(every(condition(text).part))
        assert len(found) == MAX_DEPTH + 1
        assert (found[-1].text, found[-1].value) == ("context.turn.number", 0)

    def test_a_long_expression_tells_some_of_its_parts(self):
        found = condition(" or ".join(["context.turn.number > 5"] * 300))
        assert MAX_PARTS <= len(list(every(found.part))) <= MAX_PARTS + 1
        assert found.part.value is False


@pytest.mark.parametrize("deep", ["not ", "-", "+"])
def test_as_deep_as_an_expression_may_be(deep):
    text = deep * 40 + "(context.turn.number == 1)"
    assert condition(text).part.text == text


def agree(loaded, view):
    try:
        expected = loaded.test(view)
        error = ""
    except GuardError as problem:
        expected, error = None, problem.message
    found = explain(loaded, view)
    assert found.error == error
    if not error:
        assert found.part.value is expected
        assert not [part for part in every(found.part) if part.state is State.FAILED]


@settings(deadline=None, max_examples=150)
@given(CONDITIONS, CONDITION_VIEWS)
def test_a_condition_ends_as_it_does_without_an_explanation(written, view):
    text = print_condition(written)
    try:
        loaded = load_condition(SourceFile("a.toml", text), Span(0, len(text)))
    except LoadError:
        return
    agree(loaded, view)


@settings(deadline=None, max_examples=150)
@given(GUARDS, GUARD_VIEWS)
def test_a_guard_ends_as_it_does_without_an_explanation(written, view):
    text = print_guard(written)
    try:
        loaded = load_guard(
            SourceFile("a.chatmd", text), Span(0, len(text)), guard_environment(view.variables)
        )
    except LoadError:
        return
    agree(loaded, view)
