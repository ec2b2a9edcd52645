"""Annotations: nothing in foreign text can end a command or begin another."""

from printing import finding

from bylaw.model.diagnostic import Severity
from bylaw.report.printers.formats import render_github


def test_the_command_with_all_its_properties():
    found = finding("x\nif bad", "bad", note="not defined", help="did you mean `b`?")

    assert render_github([found]) == (
        "::error file=prompts/main.chatmd,line=2,col=4,endLine=2,endColumn=7,"
        "title=unknown-function::`ever_caled` is not a function of this dialect"
        "%0Anote: not defined%0Ahelp: did you mean `b`?\n"
    )


def test_foreign_text_is_escaped():
    found = finding(
        "x",
        "x",
        path="a,b:c%\n.md",
        code="A:B",
        headline="100%0A\r\n::warning::gotcha",
        severity=Severity.WARNING,
    )

    assert render_github([found]) == (
        r"::warning file=a%2Cb%3Ac%25\u{a}.md,line=1,col=1,endLine=1,endColumn=2,title=A%3AB"
        r"::100%250A\u{d}\u{a}::warning::gotcha" + "\n"
    )


def test_one_line_a_finding_in_order():
    info = finding("ab", "b", severity=Severity.INFO, headline="second")
    printed = render_github([info, finding("ab", "a", headline="first")]).splitlines()

    assert [line.partition(" ")[0] for line in printed] == ["::error", "::notice"]
    assert render_github([]) == ""
