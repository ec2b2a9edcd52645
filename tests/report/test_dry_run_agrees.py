"""What is rehearsed comes true: the same steps are refused, and the session is the same."""

import pytest
from deciding_books import Says, rule, rule_set

from bylaw.engine.plan import MAX_CAUSED, StepOutcome
from bylaw.model.effects import EventEmit, ToolCall
from bylaw.model.event import Custom, TurnEnd, TurnStart
from bylaw.model.rule import Filter, RuleVerdict
from bylaw.model.vocabulary import CallStatus, EffectStatus, Kind, Op, Verdict
from bylaw.runtime.submit import DryRun, Runtime
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.records import rules_without_texts

SEARCH = ToolCall(tool="search", args={})


def both(rules, *events):
    """What came of the last event and the session, rehearsed and then submitted."""
    made = rule_set(*rules)
    rehearsal = DryRun(made)
    rehearsed = [rehearsal.submit(event) for event in events][-1]
    yield rehearsed, rehearsal.session("default")
    performers = {Op.TOOL_CALL: lambda due, event: StepOutcome(EffectStatus.OK)}
    with Journal() as journal:
        runtime = Runtime(made, rules_without_texts(made.books), journal, performers=performers)
        yield [runtime.submit(event) for event in events][-1], journal.session("default")


def refused(answer):
    """How often a step was refused, over everything that an event caused."""
    own = sum(one.status is EffectStatus.REFUSED for one in answer.outcomes.values())
    return own + sum(map(refused, answer.caused))


def caused(answer, *kinds):
    own = [one for one in answer.caused if one.event.kind in kinds]
    return len(own) + sum(caused(one, *kinds) for one in answer.caused)


@pytest.mark.parametrize("step", [EventEmit(type="t"), SEARCH])
def test_one_event_causes_as_many_others(step):
    kinds = (Kind.CUSTOM, Kind.TOOL_BEFORE)
    rules = [
        rule(f"r{n}-{kind}", kind, step, EventEmit(type="t"), line=n)
        for n in range(12)
        for kind in kinds
    ]
    (rehearsed, _), (submitted, _) = both(rules, Custom(type="t"))

    assert caused(rehearsed, *kinds) == caused(submitted, *kinds) == MAX_CAUSED
    assert refused(rehearsed) == refused(submitted) > 0


@pytest.mark.parametrize("verdict", [Verdict.ASK, Verdict.DENY, Verdict.HALT])
def test_a_call_that_is_not_let_through_is_refused_and_does_not_count(verdict):
    judgement = RuleVerdict(verdict, Says("no"))
    rules = [
        rule("auto", Kind.TURN_START, SEARCH, EventEmit(type="found")),
        rule("gate", Kind.TOOL_BEFORE, judgement=judgement, filter=Filter(tools=("search",))),
    ]
    for answer, session in both(rules, TurnStart()):
        assert refused(answer) == 1
        assert session.calls.pending == ()
    for _, session in both(rules, TurnStart(), TurnEnd()):
        assert session.count_calls("search") == 0
        assert session.count_used("search") == 0


def test_a_refused_call_is_told_as_denied():
    judgement = RuleVerdict(Verdict.ASK, Says("may I?"))
    rules = [
        rule("auto", Kind.TURN_START, SEARCH),
        rule("gate", Kind.TOOL_BEFORE, judgement=judgement),
        rule("never", Kind.TOOL_AFTER, EventEmit(type="it ended")),
    ]
    _, (answer, _) = both(rules, TurnStart())

    before, after = (one.event for one in answer.caused)
    assert (before.call, before.tool) == (after.call, after.tool)
    assert after.status is CallStatus.DENIED
    assert after.error == "the call was denied: may I?"
