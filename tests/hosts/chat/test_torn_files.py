"""Where a block was torn, and what is left to its author."""

import pytest

from bylaw.hosts.chat.chat_file import ChatFile
from bylaw.hosts.chat.chat_file import find_torn_block as _torn_at
from bylaw.hosts.chat.transcript import message, response
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import Role


def torn_at(text, *, shortened):
    return _torn_at(SourceFile("chat.chatmd", text), shortened=shortened)


BEFORE = "<user>hi</user>\n<assistant>ho</assistant>\n"
BLOCKS = [
    message(Role.ASSISTANT, "one line"),
    message(Role.ASSISTANT, "two\nlines"),
    response("c", "<assistant>\n</tool_response>\n<user>\n|RAW\n<assistant>x"),
]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_torn_end_of_a_block_of_ours_is_found(block):
    for left in range(len("<tool_response"), len(block.as_text.rstrip())):
        text = BEFORE + block.as_text[:left]
        assert torn_at(text, shortened=True) == len(BEFORE), text
        found = torn_at(text, shortened=False)
        assert found in (None, len(BEFORE))


def test_an_unfinished_message_of_a_person_is_left_to_them():
    assert torn_at(BEFORE + "<user>not clo", shortened=False) is None
    assert torn_at(BEFORE + "some words", shortened=False) is None


@pytest.mark.parametrize(
    "text", ["", "\n", BEFORE, BEFORE + "<!-- end -->\n", "<config model='x'/>"]
)
def test_a_whole_text_is_not_torn(text):
    assert torn_at(text, shortened=True) is None


@pytest.mark.parametrize("gone", [1, 3, 9, 14, 25])
def test_a_file_that_lost_its_end_goes_on_and_the_piece_is_kept(tmp_path, gone):
    path = tmp_path / "chat.chatmd"
    path.write_text(BEFORE)
    with ChatFile(str(path), str(tmp_path), path.name) as file:
        file.append("<assistant>done</assistant>\n")
        file.settle()
    whole = path.read_bytes()
    path.write_bytes(whole[:-gone])
    with ChatFile(str(path), str(tmp_path), path.name) as file:
        assert file.source.text in (BEFORE, whole.decode()[:-1])
    if gone > 1:
        assert path.read_text() == BEFORE
        (torn,) = (tmp_path / ".bylaw" / "state").glob("*.torn")
        assert whole[:-gone] == BEFORE.encode() + torn.read_bytes()
