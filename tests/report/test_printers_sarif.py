"""SARIF 2.1.0: the parts that its schema requires, in the units that it prescribes."""

import json

from printing import finding, span_of

from bylaw.model.diagnostic import Fix, Severity
from bylaw.report.printers.formats import render_sarif

TEXT = "😀😀 bad\nend"


def log_of(*found):
    return json.loads(render_sarif(found))


def test_columns_count_utf16_units_from_one():
    found = finding(TEXT, "bad\nend", labels=[("😀", "a face")])
    result = log_of(found)["runs"][0]["results"][0]

    assert result["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 1,
        "startColumn": 6,
        "endLine": 2,
        "endColumn": 4,
    }
    assert result["relatedLocations"][0]["physicalLocation"]["region"]["endColumn"] == 3


def test_the_structure_that_the_schema_requires():
    fix = Fix(span_of(TEXT, "bad"), "good")
    log = log_of(
        finding(TEXT, "bad", fix=fix, help="write good", note="n"),
        finding(TEXT, "end", severity=Severity.WARNING, code="CTX_ERROR"),
        finding(TEXT, "bad", severity=Severity.INFO, code="not-utf8", path="/abs/b c%.md"),
    )
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]

    assert (log["version"], run["columnKind"]) == ("2.1.0", "utf16CodeUnits")
    assert log["$schema"].endswith("sarif-2.1.0.json")
    assert run["tool"]["driver"]["name"] == "bylaw"
    assert [rule["id"] for rule in rules] == ["CTX_ERROR", "not-utf8", "unknown-function"]
    for result in run["results"]:
        check_result(result, rules)
    assert [result["level"] for result in run["results"]] == ["note", "error", "warning"]


def check_result(result, rules):
    assert set(result) <= {
        "ruleId", "ruleIndex", "level", "message", "locations", "relatedLocations", "fixes",
    }  # fmt: skip
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["message"]["text"]
    for location in result["locations"]:
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"].isascii()
        assert all(type(number) is int and number >= 1 for number in place["region"].values())


def test_a_known_code_brings_its_words():
    (rule,) = log_of(finding(TEXT, "bad", code="not-utf8"))["runs"][0]["tool"]["driver"]["rules"]

    assert rule["shortDescription"]["text"] == "a file is not UTF-8"
    assert rule["fullDescription"]["text"]
    assert "helpUri" not in rule  # its page has no public address


def test_a_fix_says_what_to_put_where():
    fix = Fix(span_of(TEXT, "bad"), "good")
    (result,) = log_of(finding(TEXT, "bad", fix=fix, help="write good"))["runs"][0]["results"]
    (change,) = result["fixes"][0]["artifactChanges"]

    assert result["fixes"][0]["description"]["text"] == "write good"
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 1, "startColumn": 6, "endLine": 1, "endColumn": 9},
            "insertedContent": {"text": "good"},
        }
    ]


def test_paths_become_uris_and_unseen_characters_are_visible():
    uris = [
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for path in ("/a b/ü.md", "x\udcff", "y\ud800", "c:d")
        for result in log_of(finding("x", "x", path=path))["runs"][0]["results"]
    ]

    assert uris == ["file:///a%20b/%C3%BC.md", "x%FF", "y%ED%A0%80", "c%3Ad"]
    assert "\u202e" not in render_sarif([finding("x\u202e", "x", headline="\u202e", path="\u202e")])
