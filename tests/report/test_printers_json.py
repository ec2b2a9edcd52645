"""The shape that programs read."""

import json

from printing import finding, span_of

from bylaw.model.diagnostic import Fix, Severity
from bylaw.report.printers.formats import diagnostics_data, render_json

TEXT = "ok\n  if 😀 bad thing\nend"


def test_the_public_fields_and_the_added_ones():
    fix = Fix(span_of(TEXT, "bad"), "good")
    found = finding(TEXT, "bad thing\nend", help="do it", note="n", fix=fix, labels=[("if", "l")])

    assert json.loads(render_json([found])) == {
        "diagnostics": [
            {
                "code": "unknown-function",
                "severity": "error",
                "message": "`ever_caled` is not a function of this dialect",
                "file": "prompts/main.chatmd",
                "line": 2,
                "column": 8,
                "end_line": 3,
                "end_column": 4,
                "help": "do it",
                "note": "n",
                "labels": [
                    {"line": 2, "column": 3, "end_line": 2, "end_column": 5, "text": "l"},
                ],
                "fix": {"line": 2, "column": 8, "end_line": 2, "end_column": 11, "text": "good"},
            }
        ]
    }


def test_one_line_of_utf8_in_order_without_unseen_characters():
    later = finding("ab", "b", headline="\u202e", severity=Severity.INFO, path="x\udcff\u202e")
    first = finding("ab", "a", code="A-1", path="a")
    printed = render_json([later, first])

    assert printed.count("\n") == 1
    assert printed.encode("utf-8")
    assert "\u202e" not in printed
    assert [one["file"] for one in json.loads(printed)["diagnostics"]] == ["a", "x\udcff\u202e"]
    assert [one["message"] for one in diagnostics_data([later])] == [r"\u{202e}"]
