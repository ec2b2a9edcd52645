"""Scripts lie below the folder of the rule file that names them."""

import os

import pytest
import scripted

from bylaw.expr.limits import MAX_SCRIPT_BYTES
from bylaw.languages.base import SiblingFileError
from bylaw.model.display import visible
from bylaw.runtime.loader import load_paths, load_root
from bylaw.runtime.rule_files import MAX_ALL_SIBLING_BYTES, SiblingFileReader
from other_user import as_somebody_else


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rules" / "scripts").mkdir(parents=True)
    return tmp_path / "rules"


def read(folder, path):
    return SiblingFileReader().of(str(folder / "r.toml")).read(path)


def refusal(folder, path):
    with pytest.raises(SiblingFileError) as caught:
        read(folder, path)
    return str(caught.value)


@pytest.mark.parametrize(
    "path",
    ["a.lua", "scripts/a.lua", "scripts/deep/a.lua", ".hidden.lua", "…/ä b.lua", "..a/b.lua"],
)
def test_a_path_begins_at_the_folder_of_the_rule_file(path, folder, monkeypatch):
    """TR-055"""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("return true")
    monkeypatch.chdir("/")

    assert read(folder, path) == "return true"


@pytest.mark.parametrize("path", ["gone.lua", "gone/a.lua", "r.toml/a.lua"])
def test_a_missing_script_is_refused_by_its_path(path, folder):
    """TR-056"""
    (folder / "r.toml").touch()

    assert refusal(folder, path) == f"`{path}` does not exist"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../x.lua", "leads out of the folder of the rule file"),
        ("scripts/../../x.lua", "leads out of the folder of the rule file"),
        ("..", "leads out of the folder of the rule file"),
        ("/etc/x.lua", "is absolute; write it relative to the folder of the rule file"),
        ("//x.lua", "is absolute; write it relative to the folder of the rule file"),
        ("", "is not the path of a file: a part of it is empty"),
        (".", "cannot be read: it is a folder"),
        ("scripts//a.lua", "is not the path of a file: a part of it is empty"),
        ("scripts/", "is not the path of a file: a part of it is empty"),
        ("scripts\\a.lua", "contains a backslash; separate folders with `/`"),
        ("..\\x.lua", "contains a backslash; separate folders with `/`"),
        ("a\0.lua", "contains a control character"),
        ("a.lua\n", "contains a control character"),
        ("a\x9b.lua", "contains a control character"),
        ("a\ud800.lua", "contains a control character"),
        ("scripts", "cannot be read: it is a folder"),
    ],
)
def test_no_other_path_is_read(path, why, folder):
    """TR-057, TR-A03"""
    for name in ("a.lua", "scripts/a.lua", "../x.lua"):
        (folder / name).write_text("return true")

    assert refusal(folder, path) == f"`{path}` {why}"


@pytest.mark.parametrize("path", ["./a.lua", "scripts/./a.lua", "scripts/../a.lua"])
def test_a_path_may_go_round_inside_of_the_folder(path, folder):
    """TR-A03: the real path must stay inside."""
    for name in ("a.lua", "scripts/a.lua"):
        (folder / name).write_text("return true")

    assert read(folder, path) == "return true"


def test_a_long_path_is_clipped(folder):
    assert len(refusal(folder, "a" * 100_000)) < 300


def test_links_that_stay_inside_are_followed(folder):
    (folder / "real").mkdir()
    (folder / "real" / "a.lua").write_text("return 1")
    (folder / "scripts" / "a.lua").symlink_to("../real/a.lua")
    (folder / "linked").symlink_to("real")

    assert read(folder, "scripts/a.lua") == read(folder, "linked/a.lua") == "return 1"


def test_a_folder_of_rules_may_be_a_link_itself(folder, tmp_path):
    (folder / "a.lua").write_text("return 1")
    (tmp_path / "linked").symlink_to("rules")

    assert read(tmp_path / "linked", "a.lua") == "return 1"


@pytest.mark.parametrize("path", ["scripts/a.lua", "out/secret.lua"])
def test_a_link_that_leaves_the_folder_is_refused(path, folder, tmp_path):
    """TR-057"""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.lua").write_text("secret")
    (folder / "scripts" / "a.lua").symlink_to("../../outside/secret.lua")
    (folder / "out").symlink_to("../outside")

    assert (
        refusal(folder, path) == f"`{path}` is a link that leads out of the folder of the rule file"
    )


def test_a_neighbour_whose_name_begins_the_same_is_outside(folder, tmp_path):
    (tmp_path / "rules-of-others").mkdir()
    (tmp_path / "rules-of-others" / "a.lua").write_text("secret")
    (folder / "a.lua").symlink_to("../rules-of-others/a.lua")

    assert "leads out of the folder" in refusal(folder, "a.lua")


def test_a_loop_of_links_ends(folder):
    (folder / "a.lua").symlink_to("b.lua")
    (folder / "b.lua").symlink_to("a.lua")

    assert "cannot be read" in refusal(folder, "a.lua")


def test_a_pipe_does_not_hang(folder):
    os.mkfifo(folder / "a.lua")

    assert refusal(folder, "a.lua") == "`a.lua` cannot be read: it is not a regular file"


def test_a_file_that_may_not_be_read(folder):
    (folder / "a.lua").touch(mode=0)
    with as_somebody_else(folder):
        why = refusal(folder, "a.lua")

    assert why == "`a.lua` cannot be read: permission denied"


def test_a_script_is_utf8_of_bounded_length(folder):
    (folder / "most.lua").write_bytes(b"-" * MAX_SCRIPT_BYTES)
    (folder / "more.lua").write_bytes(b"-" * (MAX_SCRIPT_BYTES + 1))
    (folder / "latin.lua").write_bytes(b"caf\xe9")

    assert len(read(folder, "most.lua")) == MAX_SCRIPT_BYTES
    assert refusal(folder, "more.lua") == "`more.lua` is larger than 65,536 bytes"
    assert refusal(folder, "latin.lua") == "`latin.lua` is not UTF-8 text: byte 0xe9"


def test_all_scripts_together_are_bounded(folder):
    (folder / "a.lua").write_bytes(b"-" * MAX_SCRIPT_BYTES)
    surroundings = SiblingFileReader()
    for number in range(MAX_ALL_SIBLING_BYTES // MAX_SCRIPT_BYTES):
        (folder / str(number)).mkdir()
        (folder / str(number) / "a.lua").symlink_to("../a.lua")
        surroundings.of(str(folder / "r.toml")).read(f"{number}/a.lua")
        surroundings.of(str(folder / "s.toml")).read(f"{number}/a.lua")  # counts once

    with pytest.raises(SiblingFileError, match="files that rule files name exceed 16,777,216"):
        surroundings.of(str(folder / "r.toml")).read("a.lua")


def put(root, name, *paths):
    (root / "rules" / f"{name}.scripted").write_text("".join(f"use {path}\n" for path in paths))


def digest(library):
    return library.books[0].book.digest


def test_a_refused_script_is_a_finding_of_its_file(scripted_root):
    put(scripted_root, "a", "scripts/gone.lua")
    library = load_paths(["rules"])

    assert [one.headline for one in library.diagnostics] == ["`scripts/gone.lua` does not exist"]
    assert library.books[0].broken == ("rules/a.scripted",)


def test_the_working_directory_does_not_matter(scripted_root, monkeypatch):
    """TR-055"""
    (scripted_root / "bylaw.toml").write_text('[[book]]\npath = "rules"\n')
    (scripted_root / "rules" / "scripts" / "a.lua").write_text("return true")
    put(scripted_root, "a", "scripts/a.lua")
    monkeypatch.chdir("/")

    assert load_root(str(scripted_root)).diagnostics == ()
    assert scripted.scripts == ["return true"]


def test_the_digest_of_a_book_covers_its_scripts(scripted_root):
    scripts = scripted_root / "rules" / "scripts"
    (scripts / "a.lua").write_text("return true")
    (scripts / "b.lua").write_text("return false")
    (scripts / "other.lua").write_text("nobody reads this")
    put(scripted_root, "a", "scripts/a.lua", "scripts/b.lua")
    before = digest(load_paths(["rules"]))
    (scripts / "other.lua").write_text("changed")

    assert digest(load_paths(["rules"])) == before
    (scripts / "a.lua").write_text("return false")
    changed = digest(load_paths(["rules"]))
    (scripts / "b.lua").write_text("return true")
    (scripts / "a.lua").write_text("return true")
    swapped = digest(load_paths(["rules"]))
    assert len({before, changed, swapped}) == 3


def test_a_book_knows_the_scripts_that_it_was_made_of(scripted_root):
    (scripted_root / "rules" / "scripts" / "a.lua").write_text("return true")
    put(scripted_root, "a", "scripts/a.lua")
    (loaded,) = load_paths(["rules"]).books

    beside = {path: dict(file.beside.texts) for path, file in loaded.texts.items()}
    assert beside == {"rules/a.scripted": {"scripts/a.lua": "return true"}}


def test_names_cannot_stand_for_other_names_in_a_digest(scripted_root):
    """A line break in a path is no border between two files."""
    put(scripted_root, "a")
    put(scripted_root, "b")
    two = load_paths(["rules"]).books[0]
    odd = f"rules/a.scripted\n{two.texts['rules/b.scripted'].digest} rules"
    (scripted_root / odd).mkdir()
    (scripted_root / odd / "b.scripted").touch()
    (one,) = load_paths([f"{odd}/b.scripted"]).books

    assert one.book.files == (visible(f"{odd}/b.scripted"),)
    assert one.book.digest != two.book.digest
