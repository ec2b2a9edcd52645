"""Which case checks which requirement, and that nothing of a landed language is left out."""

import subprocess
import sys
from collections import Counter

import requirement_table
from bylaw.model.source import SourceFile
from bylaw.report.suites.reader import read_page
from requirement_table import ROOT, full, known_ids, missing, prefix, read_spec, summary, table

RUN = "\n```run\n$ bylaw --version\n[exit 0]\n```\n"
PAGE = read_page(SourceFile("spec/a.md", f"## One [CM-001, CM-A01]{RUN}## Two [CM-001]{RUN}"))
IDS = ["CM-001", "CM-002", "CM-A01", "TR-001"]


def test_every_requirement_and_resolution_of_the_document_is_known():
    ids = known_ids()

    assert len(ids) == len(set(ids))
    counts = {"CM": 142 + 53, "TR": 112 + 40, "AC": 196 + 46, "LD": 110 + 40, "DW": 146 + 50}
    assert Counter(map(prefix, ids)) == counts


def test_cases_are_found_by_the_ids_that_they_name():
    rows = table(IDS, [PAGE])

    assert rows["CM-001"] == [("One", "spec/a.md"), ("Two", "spec/a.md")]
    assert list(full(rows)) == [
        "CM-001   One  spec/a.md",
        "CM-001   Two  spec/a.md",
        "CM-002   -    -",
        "CM-A01   One  spec/a.md",
        "TR-001   -    -",
    ]
    assert list(summary(rows, ["CM"])) == [
        "CM    2 of   3 ids in   2 cases  landed",
        "TR    0 of   1 ids in   0 cases  not landed",
    ]


def test_only_a_language_that_has_landed_can_miss_something():
    rows = table(IDS, [PAGE])

    assert missing(rows, []) == []
    assert missing(rows, ["CM"]) == ["CM-002"]
    assert missing(rows, ["CM", "TR"]) == ["CM-002", "TR-001"]


def test_every_id_that_a_case_names_exists():
    known = set(known_ids())

    assert [id_ for id_ in table(known, read_spec()) if id_ not in known] == []


def test_the_languages_that_have_landed_exist_and_miss_nothing():
    assert set(requirement_table.LANDED) <= set(map(prefix, known_ids()))
    assert missing(table(known_ids(), read_spec()), requirement_table.LANDED) == []


def test_the_exit_code_and_the_output_say_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(requirement_table, "LANDED", ("ZZ",))
    monkeypatch.setattr(requirement_table, "known_ids", lambda: ["CM-001", "ZZ-001"])

    assert requirement_table.main([]) == 1
    assert "ZZ-001 is named by no case\n" in capsys.readouterr().out


def test_make_can_print_the_full_table():
    done = subprocess.run(
        [sys.executable, "tests/requirement_table.py", "--full"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )

    assert b"spec/expressions/guards.md\n" in done.stdout
