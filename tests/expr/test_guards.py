"""Syntax errors of guards: the code and the underlined text (CM-044); precedence is in the spec."""

import pytest
from asking import guard, refusals
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.model.errors import LoadError


@pytest.mark.parametrize(
    ("text", "code", "underlined"),
    [
        ("", "expression-syntax", ""),
        ("  ", "expression-syntax", ""),
        ("turn_index >", "expression-syntax", ">"),
        ("(true", "expression-syntax", "("),
        ("[1, 2", "expression-syntax", "["),
        ("ever_called('x'", "expression-syntax", "("),
        ("true)", "expression-syntax", ")"),
        ("(true]", "expression-syntax", "]"),
        ("[1,]", "expression-syntax", "]"),
        ("true false", "expression-syntax", "false"),
        ("1 2", "expression-syntax", "2"),
        ("event.1", "expression-syntax", "1"),
        ("1 + not true", "expression-syntax", "not"),
        ("{1: 2}", "expression-syntax", "{"),
        ("1 ; 2", "expression-syntax", ";"),
        ("'abc", "unterminated-text", "'abc"),
        ("true and \"x'", "unterminated-text", "\"x'"),
        (r"'a\d'", "unknown-escape", r"\d"),
        (r"'\ud800'", "unknown-escape", r"\ud800"),
        ("1_000 > 1", "malformed-number", "1_000"),
        ("0x1f > 1", "malformed-number", "0x1f"),
        ("1.2.3 > 1", "malformed-number", "1.2.3"),
        ("1 < 2 < 3", "chained-comparison", "<"),
        ("1 in [1] == true", "chained-comparison", "=="),
        ("true && false", "unsupported-operator", "&&"),
        ("!true", "unsupported-operator", "!"),
        ("turn_index = 1", "unsupported-operator", "="),
        ("1 not in [1]", "unsupported-operator", "not in"),
        ("1 is 1", "unsupported-operator", "is"),
        ("2 ** 3", "unsupported-operator", "**"),
        ("true ? 1", "unsupported-operator", "?"),
        ("'a'.lower()", "unsupported-syntax", "."),
        ("last_role[0]", "unsupported-syntax", "["),
        ("'a'('b')", "unsupported-syntax", "("),
    ],
)
def test_what_is_underlined(text, code, underlined):
    ((found, shown, _),) = refusals(guard, text)

    assert (found, shown) == (code, underlined)


@pytest.mark.parametrize(
    ("text", "help_"),
    [
        ("true && false", "write `and`"),
        ("turn_index = 1", "write `==` to compare"),
        ("1 not in [1]", "write `not (a in b)`"),
        ("1 < 2 < 3", "write two comparisons joined with `and`"),
        ("1 + not true", "put `not …` in parentheses"),
        ("(true", "add `)`"),
        ("'abc", "close it with `'`"),
        (r"'a\d'", r"write `\\` for a backslash"),
        ("last_role[0]", 'read an argument of the call with `arg("list.0")`'),
    ],
)
def test_what_to_write_instead(text, help_):
    assert refusals(guard, text)[0][2] == help_


PIECES = st.sampled_from(["(", ")", "[", "]", "'", '"', "and", "not", "in", "==", "-", "1", "x", "event",
                          ".", ",", "\\", "é", "\0", "\ud800", "\n", "now()", "1.", "&&"])  # fmt: skip


@settings(deadline=None, max_examples=400)
@given(st.lists(PIECES, max_size=12).map(" ".join) | st.text(max_size=30))
def test_any_text_is_read_or_refused_with_a_place_in_it(text):
    try:
        guard(text)
    except LoadError as refused:
        for found in refused.diagnostics:
            assert 0 <= found.span.start <= found.span.end <= len(text)
