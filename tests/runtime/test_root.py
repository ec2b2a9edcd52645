"""The root is the nearest folder with settings, else the git work tree, else the folder itself."""

import os

import pytest

from bylaw.model.errors import LoadError
from bylaw.runtime.root import find_root, is_root, read_configuration
from bylaw.store.files import absolute

OURS = "[tool.bylaw]\ndiscover = false\n"


@pytest.fixture
def deep(tmp_path):
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    return folder


def root_of(folder):
    return find_root(str(folder))


def test_the_nearest_settings_win_over_git(tmp_path, deep):
    (deep.parent / ".git").mkdir()
    (tmp_path / "a" / "bylaw.toml").touch()

    assert root_of(deep) == str(tmp_path / "a")
    (deep / "bylaw.toml").touch()
    assert root_of(deep) == str(deep)


def test_the_git_work_tree_counts_without_settings(tmp_path, deep):
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere\n")

    assert root_of(deep) == str(tmp_path / "a")
    assert is_root(str(tmp_path / "a"))
    assert not is_root(str(deep))


def test_a_table_of_pyproject_counts_and_a_mention_does_not(tmp_path, deep):
    (tmp_path / "a" / "pyproject.toml").write_text(OURS)
    (deep / "pyproject.toml").write_text('[project]\ndependencies = ["bylaw"]\n')

    assert root_of(deep) == str(tmp_path / "a")
    assert not read_configuration(str(tmp_path / "a")).discover


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("[tool]\nbylaw = {}\n", True),
        ("[tool.'bylaw']\n", True),
        (f"{OURS}broken", True),
        ("[tool.bylaw-extra]\n", False),
        ("name = 'bylaw'\nbroken", False),
        ("tool = 'bylaw'", False),
    ],
)
def test_which_pyproject_speaks_of_us(text, ours, tmp_path):
    (tmp_path / "pyproject.toml").write_text(text)

    assert is_root(str(tmp_path)) is ours


def test_a_broken_table_of_ours_is_not_passed_over(tmp_path):
    (tmp_path / "pyproject.toml").write_text(f"{OURS}broken")

    with pytest.raises(LoadError, match="expected '='"):
        read_configuration(str(tmp_path))


def test_two_configurations_are_one_too_many(tmp_path):
    (tmp_path / "bylaw.toml").touch()
    (tmp_path / "pyproject.toml").write_text(OURS)

    with pytest.raises(LoadError) as caught:
        read_configuration(str(tmp_path))
    (found,) = caught.value.diagnostics
    assert (found.code, found.underlined) == ("two-configurations", "[tool.bylaw]")


@pytest.mark.parametrize("kind", ["folder", "link", "pipe", "latin"])
def test_settings_that_cannot_be_read_are_not_passed_over(kind, tmp_path):
    path = tmp_path / "bylaw.toml"
    make = {
        "folder": path.mkdir,
        "link": lambda: path.symlink_to("gone"),
        "pipe": lambda: os.mkfifo(path),
        "latin": lambda: path.write_bytes(b"# caf\xe9"),
    }
    make[kind]()

    assert root_of(tmp_path) == str(tmp_path)
    with pytest.raises(LoadError):
        read_configuration(str(tmp_path))


def test_without_settings_there_are_defaults(tmp_path):
    assert read_configuration(str(tmp_path)).discover


def test_paths_are_made_absolute_by_their_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert absolute("a/../b//c") == f"{tmp_path}/b/c"
    assert absolute("../x", "/top/sub") == "/top/x"
    assert find_root("/") == "/"
    for path in ("", "\ud800"):
        with pytest.raises(LoadError):
            absolute(path)


def test_a_working_directory_that_is_gone(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()

    with pytest.raises(LoadError, match=r"cannot read `\.`: file not found"):
        find_root()
