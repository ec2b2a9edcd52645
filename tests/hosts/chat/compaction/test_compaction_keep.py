"""What `keep` keeps: roles, the latest of the others, and whole units."""

import pytest
from compaction_chats import RULE, blocks_of, chat, compacted, step, written

from bylaw.hosts.chat.blocks import read_blocks
from bylaw.hosts.chat.compaction.compactor import Compactor
from bylaw.hosts.chat.compaction.units import (
    CompactionError,
    KeepOptions,
    Strategy,
    read_keep,
    read_strategy,
)
from bylaw.hosts.chat.transcript import call, message, response
from bylaw.languages.chatmd.parser import parse
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import Role

LONG = "word " * 100


def said(role, name):
    return message(role, f"{name} {LONG}")


def left(text, keep):
    """The first word of what is left, without the summary."""
    _, new = compacted(text, keep)
    return [one.text.split()[0] for one in blocks_of(new) if one.via_rule != RULE]


def test_roles_stay_and_the_latest_of_the_others():
    """CM-083, CM-136."""
    roles = (Role.SYSTEM, Role.DEVELOPER, Role.USER, Role.ASSISTANT)
    text = written(*(said(role, f"{role}{number}") for number in range(4) for role in roles))
    assert left(text, "system,developer,latest:6") == [
        *("system0", "developer0", "system1", "developer1", "user1", "assistant1"),
        *("system2", "developer2", "user2", "assistant2"),
        *("system3", "developer3", "user3", "assistant3"),
    ]
    assert left(text, "system") == ["system0", "system1", "system2", "system3"]
    assert left(text, "latest:0") == []
    assert left(text, "user,latest:1") == ["user0", "user1", "user2", "user3", "assistant3"]


UNIT = written(
    said(Role.USER, "ask"),
    said(Role.ASSISTANT, "look"),
    call("a", "read", "A"),
    call("b", "read", "B"),
    message(Role.DEVELOPER, f"careful {LONG}", rule="other"),
    response("a", f"ra {LONG}"),
    response("b", f"rb {LONG}"),
    said(Role.ASSISTANT, "done"),
)


def test_a_unit_stays_if_any_part_of_it_does():
    """The newest but one is a response; what stands between it and its call goes."""
    assert left(UNIT, "latest:1") == ["done"]
    assert left(UNIT, "latest:2") == ["look", "A", "B", "ra", "rb", "done"]
    assert left(UNIT, "tool") == ["look", "A", "B", "ra", "rb"]
    assert left(UNIT, "developer") == ["careful"]


def test_a_unit_goes_as_a_whole():
    done, new = compacted(UNIT, "developer,latest:1")
    assert [one.text.split()[0] for one in blocks_of(new)][::2] == ["careful", "done"]
    assert (done.replaced, done.first, done.last) == (4, 1, 5)


def test_the_call_of_a_rule_goes_with_its_response():
    made = (
        call("r1", "look", "R", rule="other"),
        response("r1", f"rr {LONG}", rule="other"),
    )
    text = written(said(Role.USER, "ask"), *made, said(Role.ASSISTANT, "done"))
    assert left(text, "latest:1") == ["done"]
    assert left(text, "latest:2") == ["R", "rr", "done"]
    assert left(text, "assistant") == ["R", "rr", "done"]


def test_a_call_that_waits_for_its_response_stays():
    text = written(
        said(Role.USER, "ask"), call("a", "t", "A"), call("b", "t", "B"), response("b", LONG)
    )
    assert left(text, "latest:0") == ["A", "B", "word"]


def test_an_id_that_is_used_again_is_another_call():
    twice = (call("a", "t", "A"), response("a", f"first {LONG}"), said(Role.USER, "more"))
    text = written(*twice, call("a", "t", "B"), response("a", f"second {LONG}"))
    assert left(text, "latest:1") == ["B", "second"]


def test_of_calls_with_one_id_the_first_is_answered_first():
    twice = (call("a", "t", "A"), said(Role.DEVELOPER, "between"), call("a", "t", "B"))
    answers = (response("a", f"first {LONG}"), response("a", f"second {LONG}"))
    assert left(written(*twice, *answers), "latest:1") == ["B", "second"]


def test_a_summary_keeps_apart_what_it_stands_between():
    """Without one, the call is taken for a part of the message that stands before it then."""
    text = written(
        message(Role.ASSISTANT, "hello"),
        said(Role.USER, "ask"),
        call("a", "t", "A"),
        response("a", "R"),
    )
    assert compacted(text, "assistant", "summary")[0].length == 4
    assert compacted(text, "assistant", "relevance")[0].length == 2


def test_what_was_imported_stays():
    imported = SourceFile("other.chatmd", written(said(Role.USER, "imported")))

    def read(source):
        placed = [(one, imported) for one in parse(imported)[0].elements]
        return read_blocks([*placed, *((one, source) for one in parse(source)[0].elements)])

    text = written(said(Role.USER, "own"), said(Role.ASSISTANT, "last"))
    with chat(text) as (file, path):
        done = Compactor(None, read).compact(file, step("latest:1"), RULE)
        assert (done.replaced, done.first, done.last, done.length) == (1, 2, 2, 3)
        assert "imported" not in path.read_text()


def test_the_words_of_keep_and_strategy():
    assert read_keep(" system, latest:06") == KeepOptions(frozenset({Role.SYSTEM}), 6)
    assert read_strategy("summary + relevance") == set(Strategy)


@pytest.mark.parametrize(
    ("keep", "strategy"),
    [
        ("latest:x", "summary"),
        ("latest:-1", "summary"),
        ("latest:" + "9" * 5000, "summary"),
        ("tools", "summary"),
        ("", "summary"),
        ("system,", "summary"),
        ("system", "magic"),
        ("system", ""),
        ("system", "summary+"),
    ],
)
def test_other_words_change_nothing(keep, strategy):
    """CM-083, CM-084, CM-A30: such a rule does not load; if one came, it would do nothing."""
    with chat(UNIT) as (file, path):
        with pytest.raises(CompactionError):
            Compactor(None).compact(file, step(keep, strategy), RULE)
        assert path.read_text() == UNIT
