"""New files and moved ones: whole, or not there; nothing that is there is replaced."""

import os
from errno import EINVAL, ENOSPC

import pytest

from bylaw.store import files


@pytest.fixture
def folder(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture(params=["in one step", "by a second name"])
def _a_file_system(request, monkeypatch):
    if request.param == "by a second name":
        monkeypatch.setattr(files, "_rename_noreplace", lambda: lambda *_: EINVAL)


@pytest.mark.usefixtures("_a_file_system")
class TestANewFile:
    def test_it_is_there_whole_and_alone(self, folder, tmp_path):
        files.write_new(folder, "a", b"new")

        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"new"}
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600

    def test_what_is_there_stays(self, folder, tmp_path):
        (tmp_path / "a").write_bytes(b"old")
        with pytest.raises(FileExistsError):
            files.write_new(folder, "a", b"new")

        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old"}

    def test_a_link_that_leads_nowhere_is_something(self, folder, tmp_path):
        (tmp_path / "a").symlink_to("nowhere")
        with pytest.raises(FileExistsError):
            files.write_new(folder, "a", b"new")

        assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_cannot_be_written_leaves_nothing(folder, tmp_path, monkeypatch):
    def full(_):
        raise OSError(ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        files.write_new(folder, "a", b"new")

    assert list(tmp_path.iterdir()) == []


def test_removing(folder, tmp_path):
    (tmp_path / "folder").mkdir()
    files.remove(folder, "nothing")
    with pytest.raises(IsADirectoryError):
        files.remove(folder, "folder")
    files.try_remove(folder, "folder")

    assert (tmp_path / "folder").is_dir()
