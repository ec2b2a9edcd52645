"""The text for people, exactly as it stands on a terminal."""

import re
from textwrap import dedent

from hypothesis import given, settings
from hypothesis import strategies as st
from printing import finding

from bylaw.model.diagnostic import Diagnostic, Label, Severity
from bylaw.model.diagnostic_text import render
from bylaw.model.source import SourceFile, Span

CHATMD = '<rules>\n\n<on event="turn_end"\n      if="not ever_caled(\'Y\')">\n'


def lines(text):
    return dedent(text).lstrip("\n")


def test_the_house_style():
    found = finding(CHATMD, "ever_caled", note="not defined", help="did you mean `ever_called`?")

    assert render([found]) == lines("""
        error[unknown-function]: `ever_caled` is not a function of this dialect
          --> prompts/main.chatmd:4:15
           |
         4 |       if="not ever_caled('Y')">
           |               ^^^^^^^^^^ not defined
           |
        help: did you mean `ever_called`?
    """)


def test_labels_on_the_same_line_hang_below_and_on_other_lines_stand_there():
    labels = [("if", "the guard"), ("'Y'", "an argument"), ("turn_end", "at this event")]
    found = finding(CHATMD, "ever_caled", note="not defined", labels=[*labels, ("<rules>", "")])

    assert render([found]) == lines("""
        error[unknown-function]: `ever_caled` is not a function of this dialect
          --> prompts/main.chatmd:4:15
           |
         1 | <rules>
           | -------
        ...
         3 | <on event="turn_end"
           |            -------- at this event
         4 |       if="not ever_caled('Y')">
           |       --      ^^^^^^^^^^ --- an argument
           |       |       |
           |       |       not defined
           |       the guard
    """)


def test_a_label_inside_the_primary_span():
    found = finding("a + b + c\n", "a + b + c", note="the sum", labels=[("b", "a text")])

    assert render([found]).splitlines()[3:] == [
        " 1 | a + b + c",
        "   | ^^^^-^^^^ the sum",
        "   |     |",
        "   |     a text",
    ]


def test_a_span_of_few_lines_is_shown_whole():
    text = "x = [\n    1,\n\n    2]\n"

    assert render([finding(text, "[\n    1,\n\n    2]", note="here")]).splitlines()[2:] == [
        "   |",
        " 1 | x = [",
        "   |     ^",
        " 2 |     1,",
        "   |     ^^",
        "...",
        " 4 |     2]",
        "   |     ^^ here",
    ]


def test_a_span_of_many_lines_is_shown_by_its_ends():
    text = "".join(f"line {number}\n" for number in range(1, 101))

    assert render([finding(text, text, note="all of it")]).splitlines()[1:] == [
        "    --> prompts/main.chatmd:1:1",
        "     |",
        "   1 | line 1",
        "     | ^^^^^^",
        "...",
        " 100 | line 100",
        "     | ^^^^^^^^ all of it",
    ]


def test_an_empty_span_has_one_caret_even_at_the_end_of_the_file():
    middle = finding("a b", Span(2, 2), note="something is missing")
    end = finding("a\n", Span(2, 2), note="the file ends here")

    assert render([middle]).splitlines()[3:] == [" 1 | a b", "   |   ^ something is missing"]
    assert render([end]).splitlines()[1:] == [
        "  --> prompts/main.chatmd:2:1",
        "   |",
        " 2 |",
        "   | ^ the file ends here",
    ]


def test_an_empty_file_has_no_excerpt():
    found = finding("", Span(0, 0), headline="there is nothing", help="write something")

    assert render([found]) == lines("""
        error[unknown-function]: there is nothing
          --> prompts/main.chatmd
        help: write something
    """)


def test_tabs_wide_and_combining_characters_keep_the_underline_in_place():
    text = "\t世界 e\u0301x = 'y'"

    assert render([finding(text, "x", note="here")]).splitlines()[3:] == [
        " 1 |     世界 e\u0301x = 'y'",
        "   |           ^ here",
    ]


def test_control_characters_are_visible_wherever_foreign_text_stands():
    found = finding(
        "a = '\x1b[2J'\u202e",
        "\x1b[2J",
        path="evil\n::error::.md",
        headline="`\x1b[2J` is \r not good",
        note="\u200b",
        help="\x07",
        code="CTX\x00",
    )

    assert render([found]) == lines(r"""
        error[CTX\u{0}]: `\u{1b}[2J` is \u{d} not good
          --> evil\u{a}::error::.md:1:6
           |
         1 | a = '\u{1b}[2J'\u{202e}
           |      ^^^^^^^^^ \u{200b}
           |
        help: \u{7}
    """)


def test_line_ends_and_byte_order_mark_are_no_text():
    found = finding("\ufeffabc\r\ndef\r\n", "abc\r\n", note="here")

    assert render([found]).splitlines()[3:] == [" 1 | abc", "   | ^^^ here"]


def test_a_line_of_megabytes_is_cut_around_what_is_marked():
    text = "x" * 3_000_000 + "BAD" + "y" * 2_000_000 + "ALSO" + "z"
    found = finding(text, "BAD", note="here", headline="`" + text + "`", labels=[("ALSO", "and")])
    shown = render([found]).splitlines()

    assert sum(map(len, shown)) < 2000
    assert shown[3] == " 1 | …" + "x" * 40 + "BAD" + "y" * 77 + "…"
    assert shown[4] == "   |  " + " " * 40 + "^^^ here"
    assert shown[5] == "..."
    assert shown[6].endswith("yyyALSOz")
    assert shown[7].endswith("  ---- and")


def test_colour_adds_nothing_but_colour():
    found = finding(CHATMD, "ever_caled", note="not defined", help="x", labels=[("if", "guard")])
    painted = render([found], color=True)

    assert "\x1b[1;31merror[unknown-function]\x1b[0m" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == render([found])


def test_findings_are_shown_in_order_with_a_blank_line_between():
    later = finding("ab", "b", severity=Severity.WARNING, code="B", headline="second")
    first = finding("ab", "a", code="A", headline="first")

    assert [line for line in render([later, first]).splitlines() if "[" in line or not line] == [
        "error[A]: first",
        "",
        "warning[B]: second",
    ]
    assert render([]) == ""


@st.composite
def diagnostics(draw):
    text = draw(st.text(st.sampled_from("ab\t\n\r世\u0301\u202e\ud800\ufeff"), max_size=300))
    offsets = st.integers(0, len(text))
    spans = st.builds(lambda a, b: Span(min(a, b), max(a, b)), offsets, offsets)
    labels = tuple(
        Label(draw(spans), draw(st.text(max_size=5))) for _ in range(draw(st.integers(0, 4)))
    )
    source = SourceFile("f", text)
    return Diagnostic("c", Severity.ERROR, "h", source, draw(spans), "NOTE", labels)


@given(diagnostics())
@settings(deadline=None, max_examples=200)
def test_any_spans_of_any_text_can_be_shown(found):
    shown = render([found])

    assert shown.encode("utf-8")
    assert "\r" not in shown
    assert not found.source.text or ("NOTE" in shown and ("^" in shown or found.labels))
