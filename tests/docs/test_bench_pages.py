"""What the comparison page says of bench/, and what bench/ hands to its neighbours."""

import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import frameworks  # noqa: E402 - bench/ is no package
import hooks  # noqa: E402 - same

PAGE = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("python", ["/usr/bin/python3", "/home/you/a clone/it's: here/python"])
def test_pre_commit_is_given_the_interpreter_whatever_its_path(python):
    [repo] = yaml.safe_load(frameworks.configuration(python))["repos"]
    [hook] = repo["hooks"]

    assert shlex.split(hook["entry"]) == [python, "-I", "-S", ".git/pairs.py"]


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_a_side_that_fails_for_another_reason_has_refused_nothing(monkeypatch, tmp_path, side):
    """Both programs are shell scripts here, which answer what they are told to."""
    answers = {
        name: f"echo {shlex.quote(text)}; exit 1" for name, text in frameworks.REFUSALS.items()
    }
    answers[side] = "echo 'there is an error in the configuration'; exit 1"
    for name, program in (("ours", "bylaw"), ("theirs", "pre-commit")):
        (tmp_path / program).write_text(f"#!/bin/sh\n{answers[name]}\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setattr(frameworks, "BIN", tmp_path)
    monkeypatch.setattr(frameworks, "FILES", 4)

    with pytest.raises(SystemExit, match=f"{side}: no refusal of a change without its test"):
        frameworks._pairs(tmp_path / "repository")


def test_a_neighbour_that_is_not_installed_is_named(monkeypatch, tmp_path, capsys):
    """Only what is printed before anything is timed counts here."""

    def stop(*_args, **_named):
        raise InterruptedError

    monkeypatch.setattr(hooks, "DEEPWORK", [str(tmp_path / "deepwork"), "hook", "rules_check"])
    monkeypatch.setattr(hooks, "_output", lambda *_: b'"deny"')
    monkeypatch.setattr(hooks, "_await_resident", lambda _: None)
    monkeypatch.setattr(hooks, "race", stop)

    with pytest.raises(InterruptedError):
        next(hooks._processes(tmp_path, {}))
    told = capsys.readouterr().out
    assert told == f"hook, deepwork 0.5.1, its hook: not installed; `{hooks.INSTALL}` brings it\n"
    assert f"`{hooks.INSTALL}`" in PAGE


def test_figures_are_ranges_and_say_where_they_come_from():
    figures = PAGE.partition("\n## Figures\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in figures.split("\n") if line.startswith("| ")][2:]

    assert "two cores" in figures
    assert [row for row in rows if not re.search(r"\d to \d|about", row[2])] == []
    assert any("bare" in row[1] for row in rows)
