"""Decisions."""

import msgspec
from hypothesis import given, settings
from random_model import decisions

from bylaw.model.decision import Decision, Need, NeedName, Needs, Plan, Reason, TraceResult
from bylaw.model.effects import LockAcquire, LockRelease, Log
from bylaw.model.vocabulary import Verdict


def plan(*steps, again=False):
    return Plan(uid="toml:a.toml#a", rule="a", steps=steps, again=again)


def test_the_results_of_a_trace_are_a_closed_list():
    assert " ".join(TraceResult) == (
        "fired guard_false guard_error limited gated budget suppressed not_live"
    )


def test_a_reason_has_the_public_fields():
    reason = Reason(
        rule="a", uid="toml:a.toml#a", file="a.toml", line=3, verdict=Verdict.WARN, text="t"
    )

    assert msgspec.json.encode(reason) == (
        b'{"rule":"a","uid":"toml:a.toml#a","file":"a.toml","line":3,"verdict":"warn","text":"t"}'
    )


def test_nothing_fired_is_allow():
    assert Decision().verdict is Verdict.ALLOW


def test_steps_are_numbered_over_all_plans():
    first, second = plan(LockAcquire(key="k"), LockRelease(key="k")), plan(Log(text="x"))
    numbered = list(Decision(plans=(first, second)).numbered_steps())

    assert [(number, step.op) for number, _, step in numbered] == [
        (1, "lock.acquire"),
        (2, "lock.release"),
        (3, "log"),
    ]
    assert [whose for _, whose, _ in numbered] == [first, first, second]


def test_steps_of_on_error_are_numbered_behind_those_of_all_plans():
    first = Plan(uid="u", rule="a", steps=(Log(text="1"),), on_error=(Log(text="3"),))
    second = Plan(uid="u", rule="b", steps=(Log(text="2"),), on_error=(Log(text="4"),))
    decision = Decision(plans=(first, second))

    assert list(decision.numbered_plans()) == [
        (first, ((1, Log(text="1")),), ((3, Log(text="3")),)),
        (second, ((2, Log(text="2")),), ((4, Log(text="4")),)),
    ]


def test_one_plan_with_again_brings_the_event_again():
    assert Decision(plans=(plan(), plan(again=True))).needs_second_round
    assert not Decision(plans=(plan(),)).needs_second_round


def test_needs_name_the_facts_to_gather():
    needs = Needs((Need(NeedName.CHANGES, "base"),))

    assert msgspec.json.encode(needs) == b'{"needs":[{"name":"changes","key":"base"}]}'


@settings(deadline=None)
@given(decisions())
def test_round_trip(decision):
    data = msgspec.json.encode(decision)

    assert msgspec.json.decode(data, type=Decision) == decision
    assert msgspec.json.encode(msgspec.json.decode(data, type=Decision)) == data
