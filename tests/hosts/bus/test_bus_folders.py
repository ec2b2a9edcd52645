"""The folders of a bus: made, kept inside of the root, refused with words for people."""

import os
from stat import S_IMODE

import pytest

from bylaw.hosts.bus.folders import FOLDERS, BusFolders
from bylaw.model.errors import BylawError
from other_user import as_somebody_else
from waiting import open_files


def test_all_four_are_made_as_the_user_allows(tmp_path):
    """LD-006"""
    old = os.umask(0o027)
    try:
        with BusFolders(str(tmp_path), "runtime/bus") as bus:
            assert bus.path == "runtime/bus"
    finally:
        os.umask(old)
    made = tmp_path / "runtime/bus"
    assert {one.name for one in made.iterdir()} == set(FOLDERS)
    assert {S_IMODE(one.stat().st_mode) for one in made.iterdir()} == {0o750}


def test_what_is_there_stays(tmp_path):
    (tmp_path / "bus/input").mkdir(parents=True)
    (tmp_path / "bus/input/b.yaml").touch()
    (tmp_path / "bus/input/a.yaml").touch()

    with BusFolders(str(tmp_path), "bus") as bus:
        assert bus.names() == ["a.yaml", "b.yaml"]
        assert bus.shown("input", "a\n\x1b.yaml") == "bus/input/a\\u{a}\\u{1b}.yaml"


def test_nothing_stays_open(tmp_path):
    before = open_files()
    with BusFolders(str(tmp_path), "bus") as bus:
        bus.names()
        bus.check_place()
    with pytest.raises(BylawError):
        BusFolders(str(tmp_path), "../bus")
    (tmp_path / "b2").mkdir()
    (tmp_path / "b2/error").touch()
    with pytest.raises(BylawError):
        BusFolders(str(tmp_path), "b2")
    assert open_files() == before


def test_a_link_inside_of_the_root_is_fine(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "bus").symlink_to("real")
    with BusFolders(str(tmp_path), "bus") as bus:
        assert bus.path == "real"
        bus.check_place()


@pytest.mark.parametrize("link", ["runtime", "runtime/bus", "runtime/bus/input"])
def test_no_link_leads_out(tmp_path, link):
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(outside)

    with pytest.raises(BylawError, match="cannot use the bus `runtime/bus`: "):
        BusFolders(str(root), "runtime/bus")
    assert not list(outside.iterdir())


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("runtime", "a file is in its place"),
        ("runtime/bus", "its `bus` is a file or a link"),
        ("runtime/bus/output", "its `output` is a file or a link"),
    ],
)
def test_a_file_in_the_way(tmp_path, file, why):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).touch()
    with pytest.raises(BylawError) as refused:
        BusFolders(str(tmp_path), "runtime/bus")
    assert str(refused.value) == f"cannot use the bus `runtime/bus`: {why}"


def test_a_folder_that_cannot_be_written(tmp_path):
    BusFolders(str(tmp_path), "bus").close()
    (tmp_path / "bus/error").chmod(0o555)
    for name in ("input", "processing", "output"):
        (tmp_path / "bus" / name).chmod(0o777)
    with as_somebody_else(tmp_path), pytest.raises(BylawError) as refused:
        BusFolders(str(tmp_path), "bus")
    assert (
        str(refused.value) == "cannot use the bus `bus`: its `error` cannot be written by this user"
    )


def test_a_root_in_which_nothing_can_be_made(tmp_path):
    tmp_path.chmod(0o555)
    with as_somebody_else(tmp_path), pytest.raises(BylawError, match="permission denied"):
        BusFolders(str(tmp_path), "bus")


def test_folders_that_were_replaced_are_noticed(tmp_path):
    with BusFolders(str(tmp_path), "bus") as bus:
        (tmp_path / "bus").rename(tmp_path / "old")
        with pytest.raises(BylawError, match="moved, removed or replaced; restart the bus"):
            bus.check_place()
        with (
            BusFolders(str(tmp_path), "bus"),
            pytest.raises(BylawError, match="moved, removed or replaced"),
        ):
            bus.check_place()
        (tmp_path / "old/input/a.yaml").touch()
        assert bus.names() == ["a.yaml"]
