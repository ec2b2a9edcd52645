"""The script that a policy starts is trusted as it was shown, and not as it becomes."""

import json

import pytest
from on_terminal import call
from policy_repository import Repository

TIDY = "trigger: src/*.py\naction:\n  command: scripts/tidy.sh {file}"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "root"
    root.mkdir()
    made = Repository(root)
    made.policy("tidy", TIDY, "")
    put_script(made, "echo tidy >> log")
    made.put(".gitignore", text="log\n")
    made.commit("README.md")
    made.put("src/a.py")
    return made


def put_script(repository, line):
    repository.put("scripts/tidy.sh", text=f"#!/bin/sh\n{line}\n")
    (repository.root / "scripts/tidy.sh").chmod(0o755)


def test_it_is_shown_and_a_change_of_it_is_not_trusted(repository):
    shown = call(repository.root, "trust", "--yes").stdout
    assert "  program  policies:.deepwork/policies/tidy.md#tidy  scripts/tidy.sh {file}\n" in shown
    assert "scripts of the repository, in their present version, without what they start" in shown
    assert repository.bylaw("run").returncode == 0
    assert (repository.root / "log").read_text() == "tidy\n"

    put_script(repository, "rm -rf precious")
    repository.put("src/b.py")
    done = repository.bylaw("run", "--format", "json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["refused"] == ["tidy"]
    assert "`scripts/tidy.sh` changed since it was trusted; see `bylaw trust`" in done.stderr

    again = call(repository.root, "trust", "--yes")
    assert "  ~  script  scripts/tidy.sh\n" in again.stdout
    assert repository.bylaw("run").returncode == 0


def test_what_lies_behind_a_link_counts(repository):
    script = repository.root / "scripts/tidy.sh"
    script.rename(repository.root / "real.sh")
    script.symlink_to("../real.sh")
    assert call(repository.root, "trust", "--yes").returncode == 0
    repository.put("real.sh", text="#!/bin/sh\nexit 0\n")

    found = json.loads(call(repository.root, "trust", "--format", "json").stdout)
    assert (found["state"], found["changes"]["scripts"]) == ("changed", ["scripts/tidy.sh"])


def test_one_that_appears_later_is_not_trusted(repository):
    (repository.root / "scripts/tidy.sh").unlink()
    shown = call(repository.root, "trust", "--yes").stdout
    assert "  scripts/tidy.sh  missing\n" in shown
    put_script(repository, "exit 0")

    assert not json.loads(call(repository.root, "trust", "--format", "json").stdout)["trusted"]


def test_where_settings_lie_below_the_top_the_script_is_that_of_the_repository(repository):
    repository.put("part/bylaw.toml", text="")
    repository.put("part/.deepwork/policies/tidy.md", text=f"---\n{TIDY}\n---\n")
    part = repository.root / "part"
    found = json.loads(call(part, "trust", "--format", "json", "--yes").stdout)

    assert found["scripts"]["scripts/tidy.sh"]
    put_script(repository, "exit 1")
    assert not json.loads(call(part, "trust", "--format", "json").stdout)["trusted"]
