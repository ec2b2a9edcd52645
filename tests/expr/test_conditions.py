"""Syntax errors of conditions: the code and the underlined text, in our own words (TR-048)."""

import pytest
from asking import condition, refusals
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.expr.conditions import parse_condition
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile, Span


@pytest.mark.parametrize(
    ("text", "code", "underlined"),
    [
        ("  ", "expression-syntax", ""),
        ("1 +", "expression-syntax", "+"),
        ("(1", "expression-syntax", "("),
        ("é + [1", "expression-syntax", "["),
        ("1)", "expression-syntax", ")"),
        ("(1]", "expression-syntax", "]"),
        ("'a", "expression-syntax", "'"),
        ("a b", "expression-syntax", "b"),
        ("a && b", "expression-syntax", "&"),
        ("'é' == '\ud800'", "expression-syntax", "\ud800"),
        ("1 == \0", "expression-syntax", "\0"),
        ("9" * 5000, "malformed-number", "9" * 5000),
        ("1 + 1e999", "malformed-number", "1e999"),
        ("[" * 300, "expression-too-deep", "["),
        ("x = 1", "assignment", "x = 1"),
        (" x += 1 ", "assignment", "x += 1"),
        ("1; 2", "several-expressions", "2"),
        ("1\n2", "several-expressions", "2"),
        ("del x", "unsupported-syntax", "del x"),
        ("1 + (lambda: 1)", "unsupported-syntax", "lambda: 1"),
        ("[*context.history.tools]", "unsupported-syntax", "*context.history.tools"),
        ("{**context.state}", "unsupported-syntax", "context.state"),
        ("len(**{'a': 1})", "unsupported-syntax", "{'a': 1}"),
        ("1 + 2j", "unsupported-syntax", "2j"),
        ("'a'.b.c()()", "unsupported-syntax", "'a'.b.c()()"),
        ("[x for [x] in [[1]]]", "unsupported-syntax", "[x]"),
        ("1 + f'{1!r}'", "unsupported-syntax", "f'{1!r}'"),
        ("1 + (2 & 3)", "unsupported-operator", "2 & 3"),
        ("1 + ~2", "unsupported-operator", "~2"),
        ("1 < 2 is 'a'", "uncertain-identity", "2 is 'a'"),
        ("context.turn._x", "private-name", "_x"),
        ("[1 for _ in 'ab']", "private-name", "_"),
        ("'a'.__len__()", "private-name", "__len__"),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_what_is_underlined(text, code, underlined):
    ((found, shown, _),) = refusals(condition, text)

    assert (found, shown) == (code, underlined)


@pytest.mark.parametrize(
    ("text", "headline"),
    [
        ("(1", "this bracket is never closed"),
        ("1)", "this bracket was never opened"),
        ("(1]", "this bracket closes another kind of bracket"),
        ("'a", "this text has no closing quote"),
        ("'''a", "this text has no closing quote"),
        ("[1 2]", "a comma or an operator is missing here"),
        ("007", "a number cannot have leading zeros"),
        ("1 +", "this is not an expression"),
        ("x if y", "this is not an expression"),
    ],
)
def test_python_is_not_quoted(text, headline):
    """What Python says differs from version to version."""
    with pytest.raises(LoadError) as caught:
        condition(text)

    assert caught.value.diagnostics[0].headline == headline


@pytest.mark.parametrize(
    ("text", "help_"),
    [
        ("x = 1", "write `==` to compare"),
        ("1; 2", "join them with `and` or `or`"),
        ("'a' is 'a'", "write `==`"),
        ("'a' is not 'a'", "write `!=`"),
        ("_x", "read a declared value instead"),
        ("-" * 60 + "1", "split it into several rules"),
        ("1 && 2", "write `and`"),
        ("1 || 2", "write `or`"),
        ("1 === 2", "write `==`"),
        ("1 and !2", "write `not`"),
        ("1 == 1\nand 2 == 2", "put brackets around an expression of several lines"),
        ("1\n!= 2", "put brackets around an expression of several lines"),
        ("1 +", ""),
    ],
)
def test_what_to_write_instead(text, help_):
    assert refusals(condition, text)[0][2] == help_


def test_places_are_those_of_the_file():
    text = 'condition = "  é + (lambda: 1)"'
    source, start = SourceFile("rules.toml", text), text.index('"') + 1
    with pytest.raises(LoadError) as caught:
        parse_condition(source, Span(start, len(text) - 1))

    assert [found.underlined for found in caught.value.diagnostics] == ["lambda: 1"]


PIECES = st.sampled_from(["(", ")", "[", "]", "{", "}", "'", '"', "f'", "lambda", "for", "if", "in", "is", "=",
                          "==", ":", "**", "1", "x", "context", ".", ",", "\\", "é", "\0", "\ud800", "\n", "\t",
                          ";", "#", "0x", "1_", "\ufeff", "\r"])  # fmt: skip


@settings(deadline=None, max_examples=600)
@given(
    st.lists(PIECES, max_size=12).map(" ".join)
    | st.lists(PIECES).map("".join)
    | st.text(max_size=30)
)
def test_any_text_is_read_or_refused_with_a_place_in_it(text):
    try:
        condition(text)
    except LoadError as refused:
        for found in refused.diagnostics:
            assert 0 <= found.span.start <= found.span.end <= len(text)
