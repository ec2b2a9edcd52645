"""A process that is killed in the middle of a compaction leaves the old file or the new one."""

import subprocess
import sys
from pathlib import Path

import pytest
from compaction_chats import blocks_of, written

from bylaw.hosts.chat.chat_file import ChatFile
from bylaw.hosts.chat.compaction.compactor import Compactor
from bylaw.hosts.chat.request import count_replies, orphan_responses
from bylaw.hosts.chat.transcript import call, message, response
from bylaw.model.effects import HistoryCompact
from bylaw.model.vocabulary import Role

STEP = HistoryCompact(keep="system,latest:1", strategy="relevance+summary")
TEXT = written(
    message(Role.SYSTEM, "be kind"),
    message(Role.USER, "look " * 100),
    message(Role.ASSISTANT, "I look"),
    call("a", "t", "{}"),
    response("a", "seen " * 100),
    message(Role.ASSISTANT, "that is it " * 100),
    message(Role.USER, "go on"),
)
# The renames of a compaction: the note that says what will be, the file, the note that says it is.
KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from test_compaction_kill import STEP, TEXT, opened
from bylaw.hosts.chat.compaction.compactor import Compactor
from pathlib import Path
left = {rename}
def watch(event, args):
    global left
    if event == "os.rename":
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
with opened(Path({path!r})) as file:
    file.note_turn(2)
    sys.addaudithook(watch)
    Compactor(None).compact(file, STEP, "tidy")
"""


def opened(path):
    return ChatFile(str(path), str(path.parent), path.name)


@pytest.mark.parametrize(
    ("rename", "is_new"), [(1, False), (2, False), (3, True), (4, True)], ids=str
)
def test_it_is_the_old_file_or_the_new_one(tmp_path, rename, is_new):
    path = tmp_path / "chat.chatmd"
    path.write_text(TEXT)
    script = KILLED.format(tests=str(Path(__file__).parent), rename=rename, path=str(path))
    ended = subprocess.run([sys.executable, "-c", script], check=False, timeout=300)
    assert ended.returncode == (0 if rename == 4 else -9)
    assert (path.read_text() != TEXT) == is_new
    with opened(path) as file:
        assert not file.edited
        assert (file.known, file.cut) == (path.stat().st_size, 0)
        blocks = blocks_of(file.source.text)
        assert orphan_responses(blocks) == []
        # Two replies stood before the turn began, and both are in the archive now.
        assert file.replies == count_replies(blocks) == (0 if is_new else 2)
        done = Compactor(None).compact(file, STEP, "tidy")
        assert done.replaced == (0 if is_new else 4)
        file.append(written(message(Role.DEVELOPER, done.note, rule="tidy")))
    with opened(path) as file:
        assert not file.edited
        assert [one.role for one in blocks_of(file.source.text)] == [
            *(Role.SYSTEM, Role.USER, Role.USER, Role.DEVELOPER)
        ]
