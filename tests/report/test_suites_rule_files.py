"""Pages whose rules are in an installed language: the cases hold, and an update changes nothing."""

from pathlib import Path

import pytest

from bylaw.cli import main
from bylaw.model.source import SourceFile
from bylaw.report.suites.compare import update_page
from bylaw.report.suites.reader import read_page
from bylaw.report.suites.runner import decide_files, installed_decider, run_case

PAGE = Path(__file__).parent.parent / "data" / "pages" / "lines.md"
READ = read_page(SourceFile.decode("lines.md", PAGE.read_bytes()))


@pytest.mark.parametrize("case", READ.cases, ids=lambda case: case.title)
def test_case(case, tmp_path):
    outcomes = run_case(
        READ.source, case, tmp_path, beside=PAGE.parent, decider=installed_decider(), main=main
    )

    assert "\n".join(outcome.failure for outcome in outcomes if outcome.failure) == ""
    assert update_page(READ.source, outcomes) == READ.source.text


def test_a_set_that_is_refused_decides_nothing(tmp_path, monkeypatch):
    (tmp_path / "a.lines").write_text("core\nnonsense\n")
    monkeypatch.chdir(tmp_path)
    decided = decide_files(["a.lines"], b'{"kind": "turn.start"}\n')

    assert decided.lines == []
    assert [(one.code, one.underlined) for one in decided.diagnostics] == [("bad-line", "nonsense")]
