"""What lies at a path, as a text: different things have different ones."""

import os
from hashlib import sha256

import pytest

from bylaw.store.file_digests import FileDigests


def digest(root, path):
    return FileDigests(str(root)).of(path)


def test_a_file_is_its_content_and_whether_it_is_a_program(tmp_path):
    file = tmp_path / "x"
    file.write_text("1")
    plain = sha256(b"1").hexdigest()

    assert digest(tmp_path, "x") == plain
    file.chmod(0o700)
    assert digest(tmp_path, "x") == f"{plain} x"
    file.chmod(0o640)
    os.utime(file, (1, 1))
    assert digest(tmp_path, "x") == plain


@pytest.mark.parametrize("path", ["none", "none/x", "file/x", "../outside", "link/x", "nul\0"])
def test_where_nothing_lies_and_what_lies_outside_is_nothing(tmp_path, path):
    (tmp_path / "outside").write_text("x")
    (tmp_path / "outer").mkdir()
    (tmp_path / "outer/x").write_text("x")
    root = tmp_path / "root"
    root.mkdir()
    (root / "file").write_text("x")
    (root / "link").symlink_to(tmp_path / "outer")

    assert digest(root, path) == ""


def test_a_link_is_where_it_leads_and_a_folder_no_file(tmp_path):
    (tmp_path / "link").symlink_to("/etc/hostname")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    assert digest(tmp_path, "link") == f"link {sha256(b'/etc/hostname').hexdigest()}"
    assert digest(tmp_path, "folder") == digest(tmp_path, "pipe") == "no file"
