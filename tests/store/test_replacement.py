"""A file that a person named gets another content: whole, with its rights, or not at all."""

import os
import stat

import pytest

from bylaw.store.files import replace_file
from other_user import as_somebody_else


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    return path


def test_it_keeps_its_rights_and_nothing_lies_beside_it(file):
    file.chmod(0o664)
    replace_file(str(file), b"new")
    assert file.read_bytes() == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o664
    assert list(file.parent.iterdir()) == [file]


def test_who_has_it_open_still_reads_the_old_one(file):
    with file.open("rb") as reader:
        replace_file(str(file), b"new and longer")
        assert reader.read() == b"old"


def test_a_link_stays_a_link(file):
    link = file.parent / "link.md"
    link.symlink_to("a.md")
    replace_file(str(link), b"new")
    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_what_is_no_regular_file_is_left_alone(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="it is not a regular file"):
        replace_file(str(tmp_path / "pipe"), b"new")
    with pytest.raises(ValueError, match="it is not a regular file"):
        replace_file(str(tmp_path), b"new")
    with pytest.raises(FileNotFoundError):
        replace_file(str(tmp_path / "none"), b"new")


def test_what_is_only_to_be_read_is_not_replaced(file):
    file.chmod(0o444)
    file.parent.chmod(0o777)
    with as_somebody_else(file.parent), pytest.raises(PermissionError):
        replace_file(str(file), b"new")
    assert file.read_bytes() == b"old"
