"""`SHARED_CONTEXT.md` as a file: read with care, and only when it changed."""

import os
import time

import pytest

from bylaw.runtime import shared_context
from bylaw.runtime.shared_context import MAX_CONTEXT_BYTES, SharedFiles

NAME = "SHARED_CONTEXT.md"


def phase(root):
    found = SharedFiles(str(root), "runtime/bus").context().phase
    return found.phase, found.why


def test_the_phase(tmp_path):
    (tmp_path / NAME).write_text("*   **Active Phase**: `3`\n")

    assert phase(tmp_path) == (3, "")


def no_file(_path):
    pass


def a_folder(path):
    path.mkdir()


def a_pipe(path):
    os.mkfifo(path)


def a_dead_link(path):
    path.symlink_to("nothing")


def a_link_to_itself(path):
    path.symlink_to(path.name)


def a_large_file(path):
    path.write_bytes(b"Active Phase: 2\n" + b"\n" * MAX_CONTEXT_BYTES)


def other_bytes(path):
    path.write_bytes(b"Active Phase: 2\n\xff")


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (no_file, "file not found"),
        (a_folder, "it is a folder"),
        (a_pipe, "it is not a regular file"),
        (a_dead_link, "file not found"),
        (a_link_to_itself, "Too many levels of symbolic links"),
        (a_large_file, "it is larger than 4,000,000 bytes"),
        (other_bytes, "it is not UTF-8 text: byte 0xff"),
    ],
)
def test_what_cannot_be_read_says_nothing(tmp_path, make, why):
    """LD-079."""
    make(tmp_path / NAME)

    assert phase(tmp_path) == (None, f"`{NAME}` cannot be read: {why}")


def test_only_the_one_at_the_root_counts(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / NAME).write_text("Active Phase: 2\n")

    assert phase(tmp_path)[0] is None


def test_a_file_that_did_not_change_is_parsed_once(tmp_path, monkeypatch):
    """What is real here is the file; counted is how often its text is read."""
    read = []
    monkeypatch.setattr(shared_context, "read_approvals", lambda text: read.append(text) or ())
    file = tmp_path / NAME
    file.write_text("Active Phase: 2\n")
    files = SharedFiles(str(tmp_path), "runtime/bus")
    time.sleep(0.15)  # until its time is certain
    first = files.context()

    assert all(files.context() is first for _ in range(5))
    assert len(read) == 1
    file.write_text("Active Phase: 3\n")
    assert files.context().phase.phase == 3


def test_a_time_that_was_set_back_hides_no_change(tmp_path):
    file = tmp_path / NAME
    file.write_text("Active Phase: 2\n")
    os.utime(file, (1, 1))
    files = SharedFiles(str(tmp_path), "runtime/bus")
    time.sleep(0.15)
    assert files.context().phase.phase == 2
    file.write_text("Active Phase: 4\n")
    os.utime(file, (1, 1))

    assert files.context().phase.phase == 4


def test_too_many_tokens(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_context, "MAX_TOKENS", 3)
    folder = tmp_path / "runtime" / "approvals"
    folder.mkdir(parents=True)
    for n in range(3):
        (folder / f"20240116_12000{n}_a_b.human").write_text("Approved")
    files = SharedFiles(str(tmp_path), "runtime/bus")

    assert len(files.tokens("20240116_120000_a_b")) == 1
    (folder / "one-more").touch()
    unclear = [(one.where, one.token.state.value) for one in files.tokens("20240116_120000_a_b")]
    assert unclear == [("runtime/approvals", "unclear")] * 2
    with pytest.raises(ValueError, match="it contains more than 3 files"):
        files.token_names("20240116_120000_a_b", "human")
