"""What holds for all TOML rules and sessions: order, repetition, shortcuts, notices, state, failure."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from random_toml import (
    CONDITIONS,
    EVENTS,
    FAILING,
    HISTORIES,
    HOOKS,
    LIBRARIES,
    RANDOM,
    Made,
    lived,
    rule_set,
    thrown_rules,
)

from bylaw.model.effects import Log, MessageInsert
from bylaw.model.event import ToolAfter
from bylaw.model.fold import observe
from bylaw.model.session import Session, encode_session
from bylaw.model.vocabulary import CallStatus, DeliverAt, Kind, Priority, Verdict

_ENCODE = msgspec.json.Encoder().encode


def as_bytes(one, *, trace=True):
    """An event and its decision."""
    decision = one.decision
    lines = tuple(decision.trace) if trace else ()
    plain = (decision.verdict.value, decision.reasons, decision.plans, decision.fired, lines)
    return _ENCODE((one.event, plain))


def life(rules, history, *, trace=True):
    """All decisions and the session at the end, as bytes."""
    happened, rehearsal = lived(rules, history)
    sessions = [encode_session(session) for session in rehearsal.sessions.values()]
    return [as_bytes(one, trace=trace) for one in happened], sessions


@settings(RANDOM)
@given(LIBRARIES, HISTORIES, st.randoms(use_true_random=False))
def test_the_order_of_files_sections_and_keys_changes_nothing(library, history, chance):
    """TR-104"""
    shuffled = chance.sample(library, len(library))

    assert life(rule_set(shuffled), history) == life(rule_set(library), history)
    # Where the header stands in its file is told in reasons only, and these rules give none.
    rewritten = rule_set(library, chance=chance)
    assert life(rewritten, history) == life(rule_set(library), history)


@settings(RANDOM)
@given(LIBRARIES, HISTORIES)
def test_deciding_twice_gives_the_same_bytes(library, history):
    rules = rule_set(library)

    assert life(rules, history) == life(rules, history) == life(rule_set(library), history)


@settings(RANDOM, max_examples=200)
@given(LIBRARIES, HISTORIES)
def test_the_fast_path_is_a_shortcut_and_no_other_answer(library, history):
    assert life(rule_set(library), history) == life(rule_set(library, fast=False), history)


LOOKED_UP = thrown_rules(
    lambda dice, rule_id: Made(
        id=rule_id,
        on="on_tool_complete",
        priority=dice.pick([100, 200]),
        when=dice.pick([when for when in CONDITIONS if "== '" in when]),
        action={"type": "log"},
    ),
    20,
)
CALLS = st.lists(
    st.sampled_from([one for one in EVENTS if one["kind"] == "tool.after"]), min_size=3
)


@settings(RANDOM)
@given(LOOKED_UP, CALLS)
def test_conditions_that_are_looked_up_find_the_same(library, history):
    assert life(rule_set(library), history) == life(rule_set(library, fast=False), history)


@pytest.mark.parametrize("value", ["result.result", "history.tools[-1].name", "result.tool_name"])
@pytest.mark.parametrize("result", ["done", ["done"], {"done": 1}, None])
def test_what_is_looked_up_may_be_anything(value, result):
    """A value that is no text, or that takes more to read, does not send all rules the long way."""
    library = [
        Made(f"r{n}", "on_tool_complete", 100, f"context.{value} == '{text}'", {"type": "log"})
        for n, text in enumerate(["done", "shell", "x", "y"])
    ]
    rules = rule_set(library)
    event = ToolAfter(tool="shell", status=CallStatus.OK, result=result)
    held = rules.bucket(event).holding(observe(Session(), event), event, 0)

    assert held == (result == "done" if value == "result.result" else 2)


@settings(RANDOM)
@given(LIBRARIES, HISTORIES)
def test_toml_rules_observe_and_never_block(library, history):
    """TR-A21"""
    happened, _ = lived(rule_set(library), history)

    assert {one.decision.verdict for one in happened} <= {Verdict.ALLOW}


_RANK = [Priority.CRITICAL, Priority.HIGH, Priority.NORMAL, Priority.LOW]
_POINTS = {DeliverAt.TURN_START: Kind.TURN_START, DeliverAt.AFTER_TOOL: Kind.TOOL_AFTER}


@settings(RANDOM, max_examples=200)
@given(LIBRARIES, HISTORIES)
def test_every_notice_leaves_once_or_waits(library, history):
    """TR-080 to TR-082, TR-A23"""
    happened, rehearsal = lived(rule_set(library), history)
    notices = rehearsal.session("default").notices
    made, left = [], []
    for one in happened:
        made += [step for plan in one.decision.plans for step in plan.steps if step.op == "notify"]
        leaving = [plan for plan in one.decision.plans if plan.delivers]
        check_leaving(one.event, leaving, made)
        left += [plan.delivers for plan in leaving]

    assert len(set(left)) == len(left), "one came twice"
    assert sorted([*left, *(one.number for one in notices.waiting)]) == list(
        range(1, len(made) + 1)
    )
    assert (notices.made, notices.lost) == (len(made), 0)


def check_leaving(event, plans, made):
    """Each with its own text, where it is due, important ones first; at the end, as a report."""
    notices = [made[plan.delivers - 1] for plan in plans]
    steps = [step for plan in plans for step in plan.steps]
    assert not plans or not event.agent
    if event.kind is Kind.SESSION_END:
        assert [step.text for step in steps] == [f"never delivered: {one.text}" for one in notices]
        assert {type(step) for step in steps} <= {Log}
        return
    assert [step.text for step in steps] == [one.text for one in notices]
    assert {type(step) for step in steps} <= {MessageInsert}
    assert {_POINTS.get(one.deliver_at, event.kind) for one in notices} <= {event.kind}
    order = [
        (_RANK.index(one.priority), plan.delivers) for one, plan in zip(notices, plans, strict=True)
    ]
    assert order == sorted(order)


def appends(name, on, priority, when):
    """A rule that writes its name behind what is there."""
    value = "{{ context.state.seen or '' }} " + name
    action = {"type": "set_state", "key": "seen", "value": value}
    return Made(name, on, priority, when, action)


SEEN = {
    "True": lambda seen: True,
    "context.state.seen is None": lambda seen: not seen,
    "len(context.state.get('seen', '')) > 8": lambda seen: sum(len(n) + 1 for n in seen) > 8,
    "context.state.get('seen', '').endswith('00')": lambda seen: (
        bool(seen) and seen[-1].endswith("00")
    ),
    "context.state.get('seen', '').count('r') % 2 == 1": lambda seen: len(seen) % 2 == 1,
    "context.state.seen > 1": lambda seen: False,  # null and a text are no numbers: an error
}
APPENDING = thrown_rules(
    lambda dice, rule_id: appends(
        rule_id, dice.pick(HOOKS[:3]), dice.pick([1, 2, 100, 1000]), dice.pick(list(SEEN))
    ),
    10,
)
BEGINNING = {
    "on_turn_start": "turn.start",
    "on_tool_complete": "tool.after",
    "on_tool_call": "tool.before",
}


@settings(RANDOM)
@given(APPENDING, st.lists(st.sampled_from(HOOKS[:3]), max_size=6))
def test_state_is_seen_at_once_by_rules_of_lower_priority(library, hooks):
    """TR-021, TR-022, TR-A01, TR-A02, TR-A39: against a model in a few lines."""
    expected = []
    for hook in hooks:
        for one in sorted(library, key=lambda one: (-one.priority, one.id)):
            if one.on == hook and SEEN[one.when](expected):
                expected.append(one.id)
    events = [
        {"kind": BEGINNING[hook], **({} if hook == "on_turn_start" else {"tool": "t"})}
        | ({"status": "ok"} if hook == "on_tool_complete" else {})
        for hook in hooks
    ]
    _, rehearsal = lived(rule_set(library), events)
    variables = rehearsal.session("default").slate.variables

    assert variables.get("toml:", {}).get("seen", "").split() == expected


@settings(RANDOM)
@given(LIBRARIES, FAILING, HISTORIES)
def test_a_rule_whose_template_fails_leaves_nothing_but_a_line(library, failing, history):
    """TR-095, TR-112, TR-A35: all others decide as if it were not there."""
    with_them, sessions = life(rule_set([*library, *failing]), history, trace=False)
    without, expected = life(rule_set(library), history, trace=False)

    assert with_them == without
    assert sessions == expected
    happened, _ = lived(rule_set(failing), history)
    lines = [line for one in happened for line in one.decision.trace]
    assert all(": render-" in line.detail for line in lines if line.result == "fired")


@settings(RANDOM)
@given(LIBRARIES, HISTORIES, st.data())
def test_rules_of_another_plugin_change_no_state_of_ours(library, history, data):
    """TR-A25"""
    ours = [replace(one, plugin="") for one in library]
    theirs = [
        replace(one, id=f"t{one.id}", plugin="theirs")
        for one in data.draw(LIBRARIES)
        if one.action["type"] in ("set_state", "log")
    ]
    _, together = lived(rule_set([*ours, *theirs]), history)
    _, alone = lived(rule_set(ours), history)
    found, expected = (
        rehearsal.session("default").slate.variables.get("toml:") for rehearsal in (together, alone)
    )

    assert found == expected
