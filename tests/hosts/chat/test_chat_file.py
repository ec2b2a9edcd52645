"""A file that is appended to: torn tails, edits by hand, other hands, rewriting."""

import errno
import os

import pytest

from bylaw.hosts.chat import chat_file
from bylaw.hosts.chat.chat_file import ChatFile
from bylaw.model.errors import BylawError, LoadError
from bylaw.store.state_folder import StateFolder


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "chat.chatmd"
    file.write_bytes(b"<user>hi</user>\n")
    return file


def opened(path):
    return ChatFile(str(path), str(path.parent), path.name)


def test_what_is_appended_is_known_the_next_time(path):
    with opened(path) as file:
        assert (file.known, file.edited, file.cut) == (-1, False, 0)
        file.append("<assistant>é</assistant>\n")
    with opened(path) as file:
        assert file.known == path.stat().st_size
        assert not file.edited
        assert file.source.text.endswith("<assistant>é</assistant>\n")


@pytest.mark.parametrize("left", range(1, 26))
def test_a_torn_tail_is_cut_wherever_it_was_torn(path, left):
    block = "<assistant>é</assistant>\n"
    with opened(path) as file:
        before = path.read_bytes()
        file.append(block)
    data = block.encode()
    if left >= len(data):
        return
    path.write_bytes(before + data[:left])
    with opened(path) as file:
        assert file.cut == left
        assert path.read_bytes() == before
        assert file.known == len(before)
        file.append(block)
    assert path.read_bytes() == before + data


@pytest.mark.parametrize("part", ["ftruncate", "pread"])
def test_a_file_that_cannot_be_mended_is_told_in_a_line(path, part, monkeypatch):
    with opened(path) as file:
        before = path.read_bytes()
        file.append("<assistant>a</assistant>\n")
    path.write_bytes(before + b"<assis")
    monkeypatch.setattr(os, part, read_only)
    do = {"ftruncate": "write", "pread": "read"}[part]
    with pytest.raises(BylawError, match=rf"^cannot {do} `chat\.chatmd`: Read-only file system$"):
        opened(path)


def test_a_torn_piece_that_cannot_be_kept_aside_is_not_cut_off(path, monkeypatch):
    path.write_bytes(b"<user>hi</user>\n<assistant>torn")
    monkeypatch.setattr(StateFolder, "write", read_only)
    refused = r"^cannot save a torn piece of `chat\.chatmd`: Read-only file system$"
    with pytest.raises(BylawError, match=refused):
        opened(path)
    assert path.read_bytes().endswith(b"torn")


def read_only(*_, **__):
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_a_half_written_block_of_a_person_is_never_cut(path):
    with opened(path) as file:
        file.append("<assistant>a</assistant>\n")
    with path.open("ab") as stream:
        stream.write(b"<user>not closed")
    with opened(path) as file:
        assert file.cut == 0
        assert not file.edited
        assert file.source.text.endswith("<user>not closed")
        assert file.known == path.stat().st_size - len("<user>not closed")


def test_an_edit_inside_is_noticed(path):
    with opened(path) as file:
        file.append("<assistant>a</assistant>\n")
    path.write_bytes(path.read_bytes().replace(b"hi", b"ho"))
    with opened(path) as file:
        assert file.edited


def test_only_one_chat_at_a_time(path):
    with opened(path), pytest.raises(BylawError, match=r"another chat has `chat\.chatmd` open"):
        opened(path)


@pytest.mark.parametrize("change", ["append", "replace"])
def test_an_editor_that_saves_meanwhile_loses_nothing(path, change):
    with opened(path) as file:
        if change == "append":
            with path.open("ab") as stream:
                stream.write(b"<user>me</user>")
        else:
            other = path.with_suffix(".new")
            other.write_bytes(b"<user>me</user>")
            os.replace(other, path)  # noqa: PTH105 - as an editor does it
        theirs = path.read_bytes()
        with pytest.raises(BylawError, match="changed while the chat was running"):
            file.append("<assistant>a</assistant>\n")
    assert path.read_bytes() == theirs


def test_rewriting_is_one_step_and_keeps_the_mode(path):
    path.chmod(0o640)
    with opened(path) as file:
        file.rewrite("<user>new</user>\n", 0)
        file.append("<assistant>a</assistant>\n")
    assert path.read_text() == "<user>new</user>\n<assistant>a</assistant>\n"
    assert path.stat().st_mode & 0o777 == 0o640
    with opened(path) as file:
        assert not file.edited
        assert file.known == path.stat().st_size
    assert sorted(one.name for one in path.parent.iterdir()) == [".bylaw", "chat.chatmd"]


def test_the_turn_is_remembered(path):
    with opened(path) as file:
        file.note_turn(3)
        file.append("<assistant>a</assistant>\n")
    with opened(path) as file:
        assert file.replies == 3


def test_what_was_not_told_is_not_known(path):
    with opened(path) as file:
        file.note_submission(0, 7)
        file.append("<developer>x</developer>\n")
    with opened(path) as file:
        assert (file.known, file.begun) == (0, 7)
        file.settle()
    with opened(path) as file:
        assert (file.known, file.begun) == (path.stat().st_size, -1)


@pytest.mark.parametrize("kind", ["folder", "missing", "pipe"])
def test_what_is_no_file_is_refused(tmp_path, kind):
    path = tmp_path / "x.chatmd"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(LoadError):
        opened(path)


@pytest.mark.parametrize("limit", ["MAX_CHAT_BYTES", "MAX_BLOCK_BYTES"])
def test_a_file_that_could_not_be_opened_again_is_not_written(path, limit, monkeypatch):
    before = path.read_bytes()
    with opened(path) as file:
        monkeypatch.setattr(chat_file, limit, len(before) + 10)
        with pytest.raises(BylawError, match="would become too large; nothing was written"):
            file.append("<assistant>" + "x" * 30)
        if limit == "MAX_CHAT_BYTES":
            with pytest.raises(BylawError, match="would become too large; nothing was written"):
                file.rewrite("x" * 100, 0)
    assert path.read_bytes() == before
    with opened(path) as file:
        assert (file.edited, file.cut) == (False, 0)


def test_a_file_that_is_no_text_can_be_opened_once_it_is(path):
    path.write_bytes(b"<user>\xff</user>\n")
    with pytest.raises(BylawError, match="is not UTF-8 text"):
        opened(path)
    path.write_bytes(b"<user>x</user>\n")
    opened(path).close()  # nobody holds it any more
