"""`bylaw init --law`: what is shown is what is written, and nothing of anybody else is touched."""

import json
from pathlib import Path

import pytest
from on_terminal import BYLAW, call, on_terminal

from bylaw.hosts.starter import LAW_STARTER, read_starter, starter_files, write_starter_files
from bylaw.model.errors import BylawError
from other_user import as_somebody_else

EXAMPLE = Path(__file__).parents[2] / "examples" / "law"
LAWS = dict(read_starter(LAW_STARTER))


def laid_out(folder):
    """What lies below a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def init(folder, *words):
    return call(folder, "init", "--law", "--root", ".", *words, program=BYLAW)


def test_the_example_shows_what_is_laid_out():
    """To mend it: `cp -r src/bylaw/hosts/bus/starter/. examples/law/`."""
    shown = laid_out(EXAMPLE)
    del shown["README.md"]

    assert shown == LAWS


def test_everything_is_written(tmp_path):
    done = init(tmp_path, "--yes")

    assert done.returncode == 0
    assert f"wrote {len(LAWS)} files" in done.stdout
    assert "bylaw check" in done.stdout
    assert laid_out(tmp_path) == LAWS


def test_a_second_time_there_is_nothing_to_write(tmp_path):
    init(tmp_path, "--yes")
    done = init(tmp_path)

    assert done.returncode == 0
    assert done.stdout.endswith("\nnothing to write\n")


def test_a_dry_run_writes_nothing(tmp_path):
    done = init(tmp_path, "--dry-run")

    assert done.returncode == 0
    assert done.stdout.count("  new  ") == len(LAWS)
    assert laid_out(tmp_path) == {}


def test_in_a_pipe_nobody_can_be_asked(tmp_path):
    done = init(tmp_path)

    assert done.returncode == 1
    assert "pass `--yes`" in done.stderr
    assert laid_out(tmp_path) == {}


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1)])
def test_a_person_is_asked_once(tmp_path, answer, code):
    shown, ended = on_terminal(tmp_path, ["init", "--law", "--root", "."], answer)

    assert ended == code
    assert shown.count(f"Write {len(LAWS)} files? [y/N] ") == 1
    assert (laid_out(tmp_path) == LAWS) is (code == 0)


def test_what_is_there_is_kept(tmp_path):
    mine = {"SHARED_CONTEXT.md": "**Active Phase**: `0`\n", "bylaw.toml": "[model]\n"}
    for name, text in mine.items():
        (tmp_path / name).write_text(text)
    done = init(tmp_path, "--yes")

    assert done.returncode == 0
    assert "  kept  SHARED_CONTEXT.md " in done.stdout
    assert f"wrote {len(LAWS) - len(mine)} files" in done.stdout
    assert laid_out(tmp_path) == LAWS | {name: text.encode() for name, text in mine.items()}


def test_links_are_not_followed_out_of_the_root(tmp_path):
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (root / "demo").symlink_to(elsewhere)
    done = init(root, "--yes")

    assert done.returncode == 1
    assert "leads out" in done.stdout
    assert laid_out(elsewhere) == {}


def block(root, folder, way):
    if way == "link":
        (root.parent / "elsewhere").mkdir()
        (root / folder).symlink_to(root.parent / "elsewhere")
    else:
        (root / folder).write_text("mine")


@pytest.mark.parametrize("folder", ["demo", "runtime"])
@pytest.mark.parametrize(
    ("way", "why"),
    [
        ("link", "leads outside the allowed folder"),
        ("file", "its folder is a file"),
    ],
)
def test_what_cannot_be_there_is_not_called_kept(tmp_path, folder, way, why):
    root = tmp_path / "root"
    root.mkdir()
    block(root, folder, way)
    done = init(root, "--yes")
    blocked = {path for path in LAWS if path.startswith(f"{folder}/")}
    rows = [line for line in done.stdout.splitlines() if line.startswith("  not written  ")]

    assert done.returncode == 1
    assert {row.split()[2] for row in rows} == blocked
    assert all(why in row for row in rows)
    assert "  kept  " not in done.stdout
    assert "bylaw check" not in done.stdout
    left = len(LAWS) - len(blocked)
    assert done.stdout.endswith(
        f"\nwrote {left} files; {len(blocked)} files could not be written, see above\n"
    )
    there = {path for path in LAWS if (root / path).is_file()}
    assert there == LAWS.keys() - blocked
    again = init(root)
    assert again.returncode == 1
    assert "nothing to write; " in again.stdout
    assert init(root, "--dry-run").returncode == 1
    as_json = init(root, "--format", "json")
    assert as_json.returncode == 1
    assert {
        one["path"] for one in json.loads(as_json.stdout)["files"] if one["standing"] == "blocked"
    } == blocked


def test_a_folder_in_the_place_of_a_file(tmp_path):
    (tmp_path / "SHARED_CONTEXT.md").mkdir()
    done = init(tmp_path, "--yes")

    assert done.returncode == 1
    assert "  not written  SHARED_CONTEXT.md " in done.stdout


def test_settings_in_pyproject_stay_the_only_ones(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.bylaw.model]\ntoken_budget = 1\n")
    done = init(tmp_path, "--yes")

    assert "the settings are in `pyproject.toml`" in done.stdout
    assert not (tmp_path / "bylaw.toml").exists()


def test_what_cannot_be_written_is_told(tmp_path):
    tmp_path.chmod(0o555)
    laws = starter_files(str(tmp_path), LAW_STARTER)

    with as_somebody_else(tmp_path), pytest.raises(BylawError, match="permission denied"):
        write_starter_files(str(tmp_path), laws)


def test_what_came_meanwhile_is_kept(tmp_path):
    laws = starter_files(str(tmp_path), LAW_STARTER)
    (tmp_path / "bylaw.toml").write_text("mine")

    with pytest.raises(
        BylawError, match=r"`bylaw\.toml`: another process has just created a file there"
    ):
        write_starter_files(str(tmp_path), laws)
    assert (tmp_path / "bylaw.toml").read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"SHARED_CONTEXT.md", "bylaw.toml"}


def test_a_root_that_is_not_there_is_told(tmp_path):
    done = call(tmp_path, "init", "--law", "--root", "none", program=BYLAW)

    assert done.returncode == 1
    assert "does not exist" in done.stderr


def test_programs_are_told_and_never_asked(tmp_path):
    asked = init(tmp_path, "--format", "json")
    done = init(tmp_path, "--format", "json", "--yes")
    again = init(tmp_path, "--format", "json")

    assert (asked.returncode, done.returncode, again.returncode) == (1, 0, 0)
    assert json.loads(asked.stdout)["written"] == 0
    assert json.loads(done.stdout)["written"] == len(LAWS)
    first = json.loads(again.stdout)["files"][0]
    assert first == {"path": "SHARED_CONTEXT.md", "standing": "same", "why": None}


def test_what_makes_no_sense_is_wrong_usage(tmp_path):
    done = init(tmp_path, "--dry-run", "--yes")

    assert done.returncode == 2
    assert "cannot combine `--dry-run` and `--yes`" in done.stderr
