"""Facts of expressions: what is left out is filled in, what is wrong is underlined."""

import pytest

from bylaw.expr.condition_environment import SHAPES
from bylaw.expr.guard_environment import CallCount, GuardView
from bylaw.model.errors import LoadError
from bylaw.model.source import BOM, SourceFile
from bylaw.report.expression import condition_view, guard_view


def refused(text, view=guard_view):
    """The headline, the underlined text and where it begins."""
    with pytest.raises(LoadError) as caught:
        view(SourceFile("facts", text))
    (found,) = caught.value.diagnostics
    assert found.code == "bad-facts"
    return found.headline, found.underlined, found.span.start


def test_the_key_at_its_depth_is_underlined():
    text = '{"vars":{"turn_index":5},"turn_index":"x"}'

    assert refused(text) == (
        "`turn_index` must be a whole number, not a text",
        '"turn_index"',
        text.rindex('"turn_index"'),
    )


@pytest.mark.parametrize(
    ("text", "headline", "underlined"),
    [
        ("[]", "the facts must be a map, not a list", "["),
        ('{"calls": {"Y": [3, "4"]}}', "`calls.Y[1]` must be a whole number, not a text", '"'),
        ('{"event": {"tool": {"nme": 1}}}', "unknown name `nme` in `event.tool`", '"nme"'),
        ('{"now": 1, "tun_index": 1}', "unknown name `tun_index` in the facts", '"tun_index"'),
        ('{"now": 99999999999999999999}', "`now` is too large", '"now"'),
        (
            '{"last": {"user": "now"}, "vars": {"x": 1, "now": 2}}',
            "`now` is a reserved name",
            '"now"',
        ),
        ('{"now": 1, "\\u006eow": 2}', "duplicate key `now`", '"\\u006eow"'),
        ('{"vars": {"x": NaN}}', "the facts are not JSON: `NaN` is not a JSON value", "NaN"),
        ('{"vars": {"x": 1e999}}', "the facts are not JSON: this number is too large", "1e999"),
        ("", "the facts are not JSON: it ends too early", ""),
        ('{"vars": {', "the facts are not JSON: it ends too early", "{"),
        (
            '{"vars": {"x": ' + "[" * 99,
            "lists and objects are nested more than 100 deep",
            "[",
        ),
    ],
)
@pytest.mark.parametrize("mark", ["", BOM])
def test_what_is_wrong_is_underlined(text, headline, underlined, mark):
    assert refused(mark + text)[:2] == (headline, underlined)


def test_the_last_of_equal_keys_in_different_places_is_found():
    text = '{"context": {"state": {"turn": 1}, "turn": {"turn": 2}}}'

    assert refused(text, condition_view) == (
        "unknown name `turn` in `context.turn`",
        '"turn"',
        text.rindex('"turn"'),
    )


def test_a_guard_without_facts_sees_the_beginning_of_a_session():
    assert guard_view(SourceFile("facts", "{}")) == GuardView(turn_index=1, last_role="none")


def test_calls_are_counted_by_the_turns_they_were_in():
    facts = '{"calls": {"Read": [4, 2], "Edit": []}, "fired_at": {"a": 5, "b": null}}'
    view = guard_view(SourceFile("facts", facts))

    assert view.calls == {"Read": CallCount(2, 4)}
    assert view.fired_at == {"a": 5}


@pytest.mark.parametrize(
    ("facts", "args"),
    [("{}", None), ('{"event": {"tool": {}}}', None), ('{"event": {"tool": {"args": {}}}}', {})],
)
def test_a_call_without_arguments_is_not_one_with_none(facts, args):
    assert guard_view(SourceFile("facts", facts)).tool_args == args


def test_every_part_of_a_context_is_there_and_empty():
    context = condition_view(SourceFile("facts", "{}")).context

    assert set(context) == set(SHAPES)
    assert context["event"] is None
    assert context["result"] is None
    assert context["history"]["messages"] == []
    assert context["turn"]["token_usage"] is None


def test_totals_of_a_context_come_from_its_history():
    tools = '[{"name": "a", "success": true}, {"name": "a", "success": true}, {"name": "b"}]'
    facts = f'{{"context": {{"history": {{"tools": {tools}, "messages": [{{}}, {{}}]}}}}}}'
    view = condition_view(SourceFile("facts", facts))

    assert view.completed == {"a": 2}
    assert view.message_total == 2
    assert view.context["history"]["tools"][2]["success"] is None


def test_a_whole_number_is_a_fraction_where_one_is_declared():
    """What compiled code relies on: a declared fraction is never a whole number."""
    facts = '{"context": {"turn": {"token_usage": 1}}}'
    usage = condition_view(SourceFile("facts", facts)).context["turn"]["token_usage"]

    assert (usage, type(usage)) == (1.0, float)
