"""What rules say, and what one hook of a client can carry of it: nothing is lost, nothing is let by."""

import pytest

from bylaw.hosts.clients.base import HookEvent, HookReply
from bylaw.hosts.hooks.notes import MAX_QUEUED, QueuedText, SessionNotes
from bylaw.hosts.hooks.session import HookHost
from bylaw.hosts.hooks.session import deliver as deliver_reply
from bylaw.model.vocabulary import HookPoint
from bylaw.runtime.effects import ABILITIES

GATES = (HookPoint.PROMPT, HookPoint.BEFORE_TOOL, HookPoint.STOP, HookPoint.SUBAGENT_STOP)
clients = pytest.mark.parametrize("host", ABILITIES)
moments = pytest.mark.parametrize(
    "moment", [one for one in HookPoint if one is not HookPoint.OTHER]
)


def deliver(host, moment, told, notes, for_model=(), for_person=(), agent=""):
    said = HookHost(host)
    said.for_model += for_model
    said.for_person += for_person
    heard = HookEvent(name="x", moment=moment, agent=agent)
    return deliver_reply(heard, told, said, ABILITIES[host], notes)


def texts_that_wait(notes):
    return [text for _, text in notes.waiting]


@clients
@pytest.mark.parametrize("moment", GATES)
def test_refusal_is_taken_or_told_later(host, moment):
    notes = SessionNotes()

    told = deliver(host, moment, HookReply(refused=True, reason="no"), notes)

    assert told.refused == (moment in ABILITIES[host].denies)
    if not told.refused:
        assert "no" in (*told.for_model, *told.for_person, *texts_that_wait(notes))


@clients
@pytest.mark.parametrize("moment", GATES)
def test_only_a_call_can_wait_for_a_person(host, moment):
    told = deliver(host, moment, HookReply(asked=True, reason="may it?"), SessionNotes())

    assert told.asked == (moment is HookPoint.BEFORE_TOOL)
    assert told.refused == (
        moment is not HookPoint.BEFORE_TOOL and moment in ABILITIES[host].denies
    )


@clients
@moments
def test_a_text_for_the_model_is_told_now_or_waits(host, moment):
    notes = SessionNotes()

    told = deliver(host, moment, HookReply(), notes, for_model=["remember"])

    now = moment in ABILITIES[host].for_model
    assert told.for_model == (("remember",) if now else ())
    assert texts_that_wait(notes) == ([] if now else ["remember"])


@clients
def test_what_waits_is_told_once_at_the_next_moment_that_can(host):
    notes = SessionNotes(waiting=[QueuedText("", "before")])

    first = deliver(host, HookPoint.AFTER_TOOL, HookReply(), notes, for_model=["now"])
    second = deliver(host, HookPoint.AFTER_TOOL, HookReply(), notes)

    assert first.for_model == ("before", "now")
    assert second.for_model == ()
    assert notes.waiting == []


@clients
@moments
def test_a_warning_is_for_the_person_or_else_for_the_model(host, moment):
    notes = SessionNotes()

    told = deliver(host, moment, HookReply(), notes, for_person=["careful"])

    if moment in ABILITIES[host].for_person:
        assert told.for_person == ("careful",)
        assert not told.for_model
        assert not notes.waiting
    else:
        assert not told.for_person
        assert [*told.for_model, *texts_that_wait(notes)] == ["careful"]


@clients
@pytest.mark.parametrize("moment", [HookPoint.STOP, HookPoint.SUBAGENT_STOP])
def test_what_blocks_a_stop_brings_the_other_texts_along(host, moment):
    notes = SessionNotes(waiting=[QueuedText("", "from before")])

    told = deliver(
        host, moment, HookReply(refused=True, reason="not yet"), notes, for_model=["and"]
    )

    if told.refused:
        assert told.reason == "not yet\n\nfrom before\n\nand"
        assert notes.waiting == []
    else:
        assert texts_that_wait(notes)[:2] == ["from before", "and"]


@clients
def test_a_refused_call_keeps_other_texts_for_later(host):
    notes = SessionNotes()

    told = deliver(
        host, HookPoint.BEFORE_TOOL, HookReply(refused=True, reason="no"), notes, ["a hint"]
    )

    assert (told.reason, told.for_model) == ("no", ())
    assert texts_that_wait(notes) == ["a hint"]


@clients
def test_what_waits_is_told_to_the_agent_that_it_is_for(host):
    notes = SessionNotes()
    refused = HookReply(refused=True, reason="no")
    for agent in ("", "a1"):
        deliver(host, HookPoint.BEFORE_TOOL, refused, notes, [f"for {agent}"], agent=agent)

    found = [
        deliver(host, HookPoint.AFTER_TOOL, HookReply(), notes, agent=one).for_model
        for one in ("a2", "a1", "")
    ]

    assert found == [(), ("for a1",), ("for ",)]


@clients
def test_what_waits_for_a_subagent_that_stops_for_good_is_told_to_the_main_agent(host):
    notes = SessionNotes()
    deliver(
        host,
        HookPoint.BEFORE_TOOL,
        HookReply(refused=True, reason="no"),
        notes,
        ["a hint"],
        agent="a1",
    )

    deliver(host, HookPoint.SUBAGENT_STOP, HookReply(), notes, ["look again"], agent="a1")

    told = deliver(host, HookPoint.AFTER_TOOL, HookReply(), notes)
    assert told.for_model == ("a hint", "look again")
    assert notes.waiting == []


def test_of_too_many_texts_that_wait_the_newest_are_kept_and_the_person_is_told():
    notes = SessionNotes()
    many = [f"{number}" for number in range(MAX_QUEUED)]
    deliver("claude", HookPoint.STOP, HookReply(), notes, many, agent="")

    told = deliver(
        "claude", HookPoint.PROMPT, HookReply(refused=True, reason="no"), notes, ["new"], agent="a1"
    )

    assert told.for_person == ("dropped 1 message for the model: too many are queued",)
    assert notes.waiting == [*(("", one) for one in many[1:]), ("a1", "new")]


def test_texts_of_rules_cannot_steer_a_terminal():
    told = deliver(
        "claude", HookPoint.PROMPT, HookReply(), SessionNotes(), for_person=["a\x1b[2Jb"]
    )

    assert "\x1b" not in told.for_person[0]
