"""Blocks of a file → the messages of a request: moved as little as providers demand."""

from hypothesis import given
from hypothesis import strategies as st

from bylaw.hosts.chat.blocks import BlockKind, read_blocks
from bylaw.hosts.chat.request import (
    count_replies,
    messages_of,
    orphan_responses,
    size_of,
    unanswered_calls,
)
from bylaw.hosts.chat.transcript import call, message, response
from bylaw.languages.chatmd.parser import parse
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import Role


def blocks_of(text):
    source = SourceFile("chat.chatmd", text)
    document, findings = parse(source)
    assert not [one for one in findings if one.severity.value == "error"]
    return read_blocks([(element, source) for element in document.elements])


def sent(*written):
    return messages_of(blocks_of("".join(one.as_text for one in written)))


def order(messages):
    return [one.answers or ",".join(call.id for call in one.calls) or one.text for one in messages]


def test_what_stands_between_a_call_and_its_response_moves_behind_it():
    messages = sent(
        message(Role.USER, "hi"),
        message(Role.ASSISTANT, "I look"),
        call("c1", "read", "{}"),
        message(Role.DEVELOPER, "careful", rule="r"),
        response("c1", "text"),
        message(Role.ASSISTANT, "done"),
    )
    assert order(messages) == ["hi", "c1", "c1", "careful", "done"]
    assert messages[1].text == "I look"


def test_only_the_last_response_of_the_same_message_counts():
    messages = sent(
        call("a", "x", "{}"),
        call("b", "x", "{}"),
        response("a", "1"),
        message(Role.DEVELOPER, "between", rule="r"),
        response("b", "2"),
        message(Role.USER, "after"),
    )
    assert order(messages) == ["a,b", "a", "b", "between", "after"]


def test_the_call_of_a_rule_is_a_message_of_its_own():
    messages = sent(
        message(Role.ASSISTANT, "hello"),
        call("rule-1-1", "t", "{}", rule="r"),
        response("rule-1-1", "ok", rule="r"),
    )
    assert order(messages) == ["hello", "rule-1-1", "rule-1-1"]
    assert messages[1].role is Role.ASSISTANT
    assert messages[1].text == ""


def test_a_rules_call_inside_another_call_moves_behind_as_a_whole():
    messages = sent(
        call("a", "x", "{}"),
        call("r", "y", "{}", rule="r"),
        message(Role.DEVELOPER, "note", rule="q"),
        response("r", "1", rule="r"),
        response("a", "2"),
    )
    assert order(messages) == ["a", "a", "r", "r", "note"]


def test_calls_nested_as_deep_as_a_file_likes():
    ids = [f"c{number}" for number in range(3000)]
    text = "".join(call(one, "x", "{}", rule="r").as_text for one in ids)
    text += "".join(response(one, "y", rule="r").as_text for one in reversed(ids))
    messages = messages_of(blocks_of(text))
    assert order(messages)[:4] == ["c0", "c0", "c1", "c1"]
    assert len(messages) == 6000


def test_settings_rules_archives_and_reasoning_are_not_sent():
    text = (
        '<config model="x"/><tool name="read_file"/><rules/><policy/>\n'
        "<archive><user>old</user></archive><reasoning id='1'><summary>s</summary></reasoning>\n"
        "<user></user><user>now</user>"
    )
    assert order(messages_of(blocks_of(text))) == ["now"]


def test_old_transcripts_are_read():
    text = (
        '<msg role="user">hi</msg>'
        '<msg role="assistant" tool_call tool_call_id="c" function_name="f"><raw>{}</raw></msg>'
        '<msg role="tool" tool_call_id="c"><raw>out</raw></msg>'
    )
    blocks = blocks_of(text)
    assert [block.kind for block in blocks] == [
        BlockKind.MESSAGE,
        BlockKind.CALL,
        BlockKind.RESPONSE,
    ]
    assert order(messages_of(blocks)) == ["hi", "c", "c"]


def test_calls_without_a_response_and_responses_without_a_call():
    blocks = blocks_of(call("a", "x", "{}").as_text + response("b", "y").as_text)
    assert [block.call for block in unanswered_calls(blocks)] == ["a"]
    assert [block.call for block in orphan_responses(blocks)] == ["b"]


def test_a_call_alone_counts_as_one_message_and_a_rules_call_as_none():
    blocks = blocks_of(
        call("a", "x", "{}").as_text
        + response("a", "12345").as_text
        + call("r", "x", "{}", rule="r").as_text
        + response("r", "1", rule="r").as_text
    )
    assert size_of(blocks) == (3, 2 + 1)
    assert count_replies(blocks) == 1


PARTS = st.sampled_from(["user", "developer", "assistant", "calls", "rule call"])


@given(st.lists(PARTS, max_size=12), st.randoms(use_true_random=False))
def test_every_call_is_answered_right_behind_its_message_and_nothing_is_lost(parts, random):
    text = ""
    for number, part in enumerate(parts):
        ids = [f"{number}-{one}" for one in range(random.randint(1, 3))]
        inserts = [message(Role.DEVELOPER, f"i{number}", rule="r")] * random.randint(0, 2)
        if part == "calls":
            answers = [response(one, one) for one in ids]
            written = [call(one, "t", "{}") for one in ids]
            rest = [*answers, *inserts]
            random.shuffle(rest)
            text += "".join(one.as_text for one in (*written, *rest))
        elif part == "rule call":
            one = ids[0]
            rest = [*inserts, response(one, "x", rule="r")]
            text += "".join(w.as_text for w in (call(one, "t", "{}", rule="r"), *rest))
        else:
            text += message(Role(part), f"m{number}").as_text
    blocks = blocks_of(text)
    messages = messages_of(blocks)
    waiting = []
    for one in messages:
        if waiting:
            assert one.answers in waiting
            waiting.remove(one.answers)
        else:
            assert not one.answers
        waiting += [each.id for each in one.calls]
    assert not waiting
    said = sorted(block.text for block in blocks if block.kind is not BlockKind.CALL)
    assert said == sorted(one.text for one in messages if one.text or not one.calls)
