"""An expression with its values, at 80 columns."""

from bylaw.expr.evaluation_trace import explain
from bylaw.expr.expression import load_condition
from bylaw.model.display import width
from bylaw.model.source import SourceFile, Span
from bylaw.report.expression import condition_view
from bylaw.report.printers.explain import draw

FACTS = '{"context": {"turn": {"token_usage": 0.85}, "history": {"total_tool_calls": 3}}}'


def shown(text, facts=FACTS, limit=78, before=""):
    source = SourceFile("a.toml", before + text)
    loaded = load_condition(source, Span(len(before), len(before + text)))
    found = explain(loaded, condition_view(SourceFile("facts.json", facts)))
    lines = [line.text.rstrip() for line in draw(found, limit)]
    assert max(map(width, lines)) <= limit
    return lines


def test_marks_under_a_short_expression():
    text = "context.turn.token_usage > 0.8 and context.history.total_tool_calls > 5"
    assert shown(text) == [
        "context.turn.token_usage > 0.8 and context.history.total_tool_calls > 5",
        "------------------------ 0.85",
        "------------------------------ true",
        "                                   -------------------------------- 3",
        "                                   ------------------------------------ false",
        "----------------------------------------------------------------------- false",
    ]


def test_places_are_those_of_the_expression_not_of_its_file():
    assert shown("context.turn.token_usage > 2", before="if = ") == [
        "context.turn.token_usage > 2",
        "------------------------ 0.85",
        "---------------------------- false",
    ]


def test_what_was_not_evaluated():
    assert shown("context.turn.token_usage > 2 and context.turn.number == 1")[-2:] == [
        "                                 ------------------------ not evaluated",
        "--------------------------------------------------------- false",
    ]


def test_what_failed():
    assert shown("context.turn.token_usage > 'x'")[1:] == [
        "------------------------ 0.85",
        "------------------------------ failed",
    ]


def test_a_tree_where_marks_do_not_fit():
    text = "context.turn.token_usage > 0.8 and context.history.total_tool_calls > 5 or 1 == 2"
    assert shown(text, limit=60) == [
        "context.turn.token_usage > 0.8 and context.history.to… false",
        "├ context.turn.token_usage > 0.8 and context.history.… false",
        "│ ├ context.turn.token_usage > 0.8                     true",
        "│ │ └ context.turn.token_usage                         0.85",
        "│ └ context.history.total_tool_calls > 5               false",
        "│   └ context.history.total_tool_calls                 3",
        "└ 1 == 2                                               false",
    ]


def test_a_tree_for_an_expression_of_several_lines():
    assert shown("(\n    context.turn.number == 1\n    and 1 < 2\n)") == [
        "context.turn.number == 1 and 1 < 2 false",
        "├ context.turn.number == 1         false",
        "│ └ context.turn.number            0",
        "└ 1 < 2                            not evaluated",
    ]


def test_long_and_wide_values_are_cut():
    facts = '{"context": {"user": {"id": "%s"}}}' % ("日本\\n" * 100)
    lines = shown("context.user.id == 'x' or len(context.user.id) > 7", facts)
    assert lines[1].startswith('--------------- "日本\\n日本')
    assert lines[1].endswith("…")


def test_wide_characters_before_a_part():
    assert shown("'日本' == context.user.id", '{"context": {"user": {"id": "x"}}}') == [
        "'日本' == context.user.id",
        '          --------------- "x"',
        "------------------------- false",
    ]


def test_a_set_is_shown_in_a_fixed_order():
    text = "context.user.id in {c for c in ['b', 'a', 'c']}"
    assert '["a", "b", "c"]' in "".join(shown(text, '{"context": {"user": {"id": "x"}}}'))
