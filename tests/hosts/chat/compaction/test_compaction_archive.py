"""What the file looks like behind a compaction."""

import pytest
from compaction_chats import blocks_of, chat, compacted, document_of, step, undone, written

from bylaw.hosts.chat.compaction.compactor import Compactor
from bylaw.hosts.chat.compaction.units import CompactionError
from bylaw.hosts.chat.transcript import message
from bylaw.model.vocabulary import Role

LONG = "Long story. " * 30


def test_the_whole_file():
    """CM-A29."""
    text = (
        '\ufeff<config model="m"/>\r\n<system>Be kind.</system>\r\n\r\n'
        f'<user>{LONG}</user>\r\n<!-- aside -->\r\n<reasoning id="1">hm</reasoning>\r\n'
        f"<assistant>{LONG}</assistant>\r\n\r\n<user>Go on.</user>\r\n<user>\r\n</user>\r\n"
    )
    with chat(text) as (file, path):
        done = Compactor(None).compact(file, step("system,latest:1"), "tidy")
        new = path.read_bytes().decode()
    head = '<archive synthetic="true" via_rule="tidy" messages="2">'
    summary = (
        '<user synthetic="true" via_rule="tidy">\nRAW|\n<system-reminder>\n'
        "Extract of 2 earlier messages (2 to 3), the beginning of each:\n\n"
        "user: Long story. Long story. Long story. Long story. Long story. Long story. …\n"
        "assistant: Long story. Long story. Long story. Long story. Long story. Long story. …\n"
        "</system-reminder>\n|RAW\n</user>"
    )
    begin = text.index("<user>")
    end = text.index("</assistant>") + len("</assistant>")
    archive = f"{head}\n{text[begin:end]}\n</archive>\n{summary}"
    assert new == text[:begin] + archive + text[end:]
    assert done.note == (
        "[compact] 2 messages (2 to 3) replaced by an extract, because no model is available;"
        " kept in the archive of this file"
    )
    assert undone(text, new) == text


def test_without_summary_nothing_takes_the_place():
    text = written(message(Role.USER, LONG), message(Role.ASSISTANT, "yes"))
    done, new = compacted(text, "assistant", "relevance")
    assert [one.text for one in blocks_of(new)] == ["yes"]
    assert done.note == "[compact] 1 message (1) removed; kept in the archive of this file"


def test_what_stays_in_between_parts_the_archives():
    text = written(
        message(Role.USER, LONG),
        message(Role.DEVELOPER, "rule"),
        message(Role.USER, LONG),
        message(Role.ASSISTANT, "yes"),
    )
    done, new = compacted(text, "developer,assistant")
    names = [one.name for one in document_of(new).elements]
    assert names == ["archive", "developer", "archive", "user", "assistant"]
    assert "2 messages (between 1 and 3) replaced" in done.note
    assert done.note.endswith("kept in the archives of this file")


def test_reasoning_goes_with_what_it_leads_to():
    reasoning = '<reasoning id="1">hm</reasoning>\n'
    gone, kept = f"<assistant>{LONG}</assistant>\n", "<assistant>yes</assistant>\n"
    done, new = compacted(f"{reasoning}{gone}{reasoning}{kept}", "latest:1")
    names = [one.name for one in document_of(new).elements]
    assert names == ["archive", "user", "reasoning", "assistant"]
    assert document_of(new).elements[0].children[1].name == "reasoning"
    assert done.replaced == 1


def test_text_between_messages_stays_where_it_is():
    text = f"<user>{LONG}</user>\nnot sent\n<user>{LONG}</user>\n<user>on</user>"
    _, new = compacted(text, "latest:1")
    assert "</archive>\nnot sent\n<archive" in new


def test_a_file_that_would_not_read_back_is_not_written():
    text = f"<user>a</user><user>{LONG}"  # the end tag of an archive would be a part of it
    with chat(text) as (file, path):
        with pytest.raises(CompactionError, match="would not parse"):
            Compactor(None).compact(file, step("system"), "tidy")
        assert path.read_text() == text


def test_archives_stay_as_they_are_and_a_summary_is_summed_up_again():
    text = written(*(message(Role.USER, f"{number} {LONG}") for number in range(4)))
    _, once = compacted(text, "latest:1")
    more = once + written(message(Role.ASSISTANT, f"answer {LONG}"))
    done, twice = compacted(more, "latest:1")
    names = [one.name for one in document_of(twice).elements]
    assert names == ["archive", "archive", "user", "assistant"]
    assert undone(more, twice) == more
    assert done.replaced == 2
    told = blocks_of(twice)[0].text
    # What the first extract said is in the second, without its headline.
    assert told.count("Extract of") == 1
    assert all(f"user: {number} Long" in told for number in range(4))


def test_there_may_be_nothing_to_do():
    text = written(message(Role.SYSTEM, LONG), message(Role.USER, "a"))
    done, new = compacted(text, "system,latest:1")
    assert (done.replaced, new) == (0, text)
    assert done.note == "[compact] 0 messages replaced: no message may be removed"
    done, new = compacted(text, "system")
    assert (done.replaced, new) == (0, text)
    assert done.note == "[compact] 0 messages replaced: the history would not become shorter"
    done, new = compacted("", "system")
    assert (done.replaced, done.length, new) == (0, 0, "")


def test_what_was_appended_since_the_file_was_opened_counts():
    with chat(written(message(Role.USER, LONG))) as (file, path):
        file.append(written(message(Role.ASSISTANT, LONG), message(Role.USER, "go on")))
        done = Compactor(None).compact(file, step("latest:1"), "tidy")
        assert done.replaced == 2
        file.append(written(message(Role.DEVELOPER, done.note, rule="tidy")))
        blocks = blocks_of(path.read_text())
    assert [one.role for one in blocks] == [Role.USER, Role.USER, Role.DEVELOPER]
