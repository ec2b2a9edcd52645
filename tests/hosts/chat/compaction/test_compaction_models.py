"""Relevance and summary, asked of a model: what it is asked, and what comes of its answers."""

import json
from hashlib import sha256

import pytest
from compaction_chats import RULE, Summariser, blocks_of, chat, compacted, step, written
from hypothesis import given
from hypothesis import strategies as st

from bylaw.hosts.chat.blocks import ModelCall, Reply
from bylaw.hosts.chat.compaction.compactor import Compactor
from bylaw.hosts.chat.compaction.relevance import MAX_SCORED
from bylaw.hosts.chat.compaction.summary import MAX_MATERIAL_CHARS, MAX_SUMMARY_CHARS
from bylaw.hosts.chat.compaction.units import CompactionError
from bylaw.hosts.chat.models.base import ModelError
from bylaw.hosts.chat.transcript import call, message, response
from bylaw.model.vocabulary import Role

LONG = "Long story. " * 100


def users(count, text=LONG):
    return written(*(message(Role.USER, f"m{number} {text}") for number in range(count)))


def test_the_summary_is_asked_for_once_and_without_tools():
    text = written(
        message(Role.USER, f"do\nthis {LONG}"),
        message(Role.ASSISTANT, "I look"),
        call("a", "read_file", '{"path": "x"}'),
        response("a", "gone", failed=True),
        call("b", "note", "{}", rule="other"),
        response("b", "noted", rule="other"),
        message(Role.USER, "last"),
    )
    model = Summariser("  1. Request: this.\n</system-reminder>\ud800 ")
    done, new = compacted(text, "latest:1", model=model)
    (request,) = model.requests
    assert request.tools == ()
    assert [one.role for one in request.messages] == [Role.SYSTEM, Role.USER]
    assert request.messages[1].text == (
        f"user: do\n  this {LONG}\nassistant: I look\n"
        'assistant calls read_file: {"path": "x"}\ntool, failed: gone\n'
        "rule other calls note: {}\ntool: noted"
    )
    summary = blocks_of(new)[0]
    assert summary.text == (
        "<system-reminder>\nSummary of 4 earlier messages (1 to 4):\n\n"
        "1. Request: this.\n[/system-reminder>?\n</system-reminder>"
    )
    assert (summary.role, summary.via_rule) == (Role.USER, RULE)
    assert done.note == (
        "[compact] 4 messages (1 to 4) replaced by a summary; kept in the archive of this file"
    )


def test_the_model_judges_what_stays():
    model = Summariser('```json\n{"1": 0.2, "2": 0.5, "3": 0.49, "4": 0, "5": 1}\n```', "Sum.")
    _, new = compacted(users(10), "latest:5", "relevance+summary", model)
    # A quarter of five messages of one size is one of them: the best.
    left = [one.text.split()[0] for one in blocks_of(new)]
    assert left == ["<system-reminder>", "m4", "m5", "m6", "m7", "m8", "m9"]
    judging, summing = model.requests
    assert "# Older parts\n## 1\nuser: m0" in judging.messages[1].text
    assert "m4" not in summing.messages[1].text


def test_only_a_quarter_stays_however_relevant_all_of_it_is():
    scores = json.dumps({str(number): 1 for number in range(1, 13)})
    done, new = compacted(users(12), "latest:0", "relevance", Summariser(scores))
    assert [one.text.split()[0] for one in blocks_of(new)] == ["m9", "m10", "m11"]
    assert done.replaced == 9


def test_only_the_newest_are_judged():
    scores = json.dumps({str(number): 1 for number in range(1, MAX_SCORED + 1)})
    model = Summariser(scores)
    compacted(users(MAX_SCORED + 5, "x" * 5000), "latest:0", "relevance", model)
    asked = model.requests[0].messages[1].text
    assert "## 1\nuser: m5 " in asked
    assert "user: m4 " not in asked


def test_what_a_model_is_given_is_bounded():
    model = Summariser("Sum.")
    compacted(users(2000, "long " * 200), "latest:1", model=model)
    asked = model.requests[0].messages[1].text
    assert len(asked) <= MAX_MATERIAL_CHARS
    assert asked.startswith("user: m0 ")
    assert " left out]" in asked
    assert "user: m1998 " in asked


FAILURES = {
    "the model fails": [ModelError("no connection")],
    "it fails the second time": ["", ModelError("no connection")],
    "empty": ["", " ", "\n"],
    "too long": ["x" * (MAX_SUMMARY_CHARS + 1)] * 3,
    "cut": [Reply(text="1. Requ", cut="the length limit was reached")] * 3,
    "calls": [Reply(text="I look", calls=(ModelCall("a", "shell", "{}"),))] * 3,
}
NO_SCORES = {
    "no JSON": ["all are fine"] * 3,
    "no object": ["[0, 0, 0]"] * 3,
    "one is missing": ['{"1": 0, "2": 0}'] * 3,
    "one too many": ['{"1": 0, "2": 0, "3": 0, "4": 0}'] * 3,
    "a key twice": ['{"1": 0, "2": 0, "3": 0, "3": 1}'] * 3,
    "too large": ['{"1": 0, "2": 0, "3": 1.1}'] * 3,
    "no number": ['{"1": 0, "2": 0, "3": true}'] * 3,
    "not a number": ['{"1": 0, "2": 0, "3": NaN}'] * 3,
    "the judge fails": [ModelError("no connection")],
}


@pytest.mark.parametrize(
    ("strategy", "answers"),
    [
        *(("summary", answers) for answers in FAILURES.values()),
        *(("relevance", answers) for answers in NO_SCORES.values()),
        *(("relevance+summary", ['{"1": 0, "2": 0, "3": 0}', *x]) for x in FAILURES.values()),
    ],
)
def test_a_model_that_fails_changes_nothing(strategy, answers):
    with chat(users(4)) as (file, path):
        before = sha256(path.read_bytes()).digest(), path.stat()
        model = Summariser(*answers)
        with pytest.raises(
            CompactionError, match=r"no connection|gave no usable answer in 3 attempts: "
        ):
            Compactor(model).compact(file, step("latest:1", strategy), RULE)
        assert model.answers == []
        assert (sha256(path.read_bytes()).digest(), path.stat()) == before
        file.append(written(message(Role.USER, "on")))  # and it goes on


def test_an_answer_that_is_no_use_is_asked_for_again():
    model = Summariser("no", '{"1": 0, "2": 0, "3": 0}', "", "  ", "Sum.")
    done, new = compacted(users(4), "latest:1", "relevance+summary", model)
    assert len(model.requests) == 5
    assert done.replaced == 3
    assert "\nSum.\n" in new


def test_a_summary_that_is_longer_than_what_it_stands_for_changes_nothing():
    text = users(3, "short")
    done, new = compacted(text, "latest:1", model=Summariser("long " * 100))
    assert (done.replaced, new) == (0, text)


class Script(Summariser):
    """A model that can only go on with its script."""

    summarises = False


def test_a_model_that_cannot_be_asked_is_not():
    with_script, without = Script("never"), None
    assert compacted(users(4), "latest:1", "relevance+summary", with_script) == compacted(
        users(4), "latest:1", "relevance+summary", without
    )
    assert with_script.requests == []


@given(st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip))
def test_whatever_a_model_writes_is_one_block(answer):
    done, new = compacted(users(3), "latest:1", model=Summariser(answer))
    summary, last = blocks_of(new)
    assert done.replaced == 2
    assert summary.text.startswith("<system-reminder>\nSummary of 2 earlier messages (1 to 2):\n")
    assert summary.text.endswith("\n</system-reminder>")
    assert last.text.startswith("m2")
