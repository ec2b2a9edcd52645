"""Objects of guard expressions, and the arguments of a call that an expression reads."""

import pytest

from bylaw.expr.expression import argument_reads, check_expression
from bylaw.expr.guard_environment import GuardView, guard_environment
from bylaw.expr.guards import parse_guard, parse_object
from bylaw.expr.limits import MAX_DEPTH
from bylaw.expr.views import ExpressionGuard, guard_reader
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile, Span

READER = guard_reader("chatmd:a", "chatmd:a#")


def loaded(text, parse=parse_object):
    source, span = SourceFile("body", text), Span(0, len(text))
    return check_expression(source, parse(source, span), span, guard_environment())


class TestObjects:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("{}", {}),
            ("{'a': 1}", {"a": 1}),
            (
                '{"a": {"b": {}}, "c": [{}, {"d": [1 + 1]}]}',
                {"a": {"b": {}}, "c": [{}, {"d": [2]}]},
            ),
            ('{"a": arg("q"), "b": (turn_index)}', {"a": "eio", "b": 1}),
        ],
    )
    def test_values_are_expressions(self, text, value):
        assert loaded(text).evaluate(GuardView(tool_args={"q": "eio"})) == value

    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ("", ""),
            ("[1]", "["),
            ("1", "1"),
            ("{a: 1}", "a"),
            ("{1: 1}", "1"),
            ('{"a" 1}', "1"),
            ('{"a": 1,}', "}"),
            ('{"a": 1, "a": 2}', '"a"'),
            ("{\"a\": 1, 'a': 2}", "'a'"),
            ('{"a": 1', "{"),
            ('{"a":', ":"),
            ('{"a": 1} {}', "{"),
            ('{"a": {"b"}}', "}"),
            ('{"a": 1}["a"]', "["),
        ],
    )
    def test_what_is_none(self, text, place):
        with pytest.raises(LoadError) as refused:
            loaded(text)
        assert [one.underlined for one in refused.value.diagnostics] == [place]

    def test_too_deep(self):
        with pytest.raises(LoadError, match="levels deep"):
            loaded('{"a":' * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1))

    def test_a_guard_has_none(self):
        with pytest.raises(LoadError, match=r"unexpected `\{`"):
            loaded("{} == {}", parse_guard)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("turn_index > 1", []),
        ("arg('b') == arg('a') or arg('b') == 1", ["b", "a"]),
        ("jsonpath('$.o[0]') == 1", ["$.o[0]"]),
        ("arg('a' + arg('b')) == 1", ["arg('a' + arg('b'))", "b"]),
    ],
)
def test_what_is_read(text, names):
    guard = ExpressionGuard(loaded(text, parse_guard), READER)

    assert [read.name for read in argument_reads(guard)] == names
