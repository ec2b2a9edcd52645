"""What the index says of files, and what it says when it is not whole."""

import subprocess

from bylaw.worktree.repository import IndexFile


def test_sizes_of_all_files(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for number in range(20):
        (tmp_path / f"file-{'x' * number}").write_text("a" * number)
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    index = IndexFile(f"{tmp_path}/.git", "sha1")

    assert index.is_version_2
    assert [index.size(b"file-" + b"x" * number) for number in range(20)] == [*range(20)]
    assert index.size(b"other") == 0


def test_one_that_promises_more_than_it_holds_comes_to_an_end(tmp_path):
    (tmp_path / "index").write_bytes(b"DIRC\0\0\0\2" + b"\xff" * 100)

    assert IndexFile(str(tmp_path), "sha1").size(b"a") == 0
