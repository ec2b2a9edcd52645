"""The invariants on random books, sessions and events."""

from contextlib import suppress

from driving import DONE, FAILED, Driven, as_bytes, assert_replays
from forms import Check, Does, book, group, insert, rule
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from random_books import (
    AT_ONCE,
    FAILING,
    KINDS,
    NOTE,
    NOTHING,
    RANDOM,
    UNMADE,
    Library,
    Which,
    answered,
    histories,
    libraries,
    lived,
    thrown,
)

from bylaw.engine.index import RuleSet
from bylaw.engine.plan import MAX_CHAIN
from bylaw.model.decision import Decision, TraceResult
from bylaw.model.effects import EventEmit, RulesEnable, StateSet, ToolCall
from bylaw.model.event import Custom, EffectDone, Message, ToolBefore
from bylaw.model.fold import fold
from bylaw.model.procedure import GuardFault, StepFault
from bylaw.model.session import encode_session
from bylaw.model.vocabulary import EffectStatus, Kind, Role, Verdict
from bylaw.model.wire import decode_event, encode_event

ANSWERED = (TraceResult.FIRED, TraceResult.GUARD_ERROR)


class TestPure:
    """Invariant 1: a decision depends on nothing but books, session and event."""

    @settings(RANDOM, max_examples=300)
    @given(libraries(), histories)
    def test_the_same_arguments_give_the_same_bytes_and_stay_as_they_are(self, library, history):
        for session, event, decision in lived(library, history):
            before = encode_session(session), encode_event(event)
            for fast in (True, False):
                _, again = answered(RuleSet(library, fast=fast), session, event)
                assert as_bytes(again) == as_bytes(decision)
            assert (encode_session(session), encode_event(event)) == before

    @settings(RANDOM, max_examples=200)
    @given(libraries(), histories)
    def test_recorded_events_give_the_same_bytes_again(self, library, history):
        recorded = list(lived(library, history))
        read = [decode_event(encode_event(event)) for _, event, _ in recorded]
        again = list(lived(library, read))

        assert [encode_event(event) for _, event, _ in again] == [
            encode_event(event) for _, event, _ in recorded
        ]
        assert [as_bytes(decision) for *_, decision in again] == [
            as_bytes(decision) for *_, decision in recorded
        ]


class TestNothingHidden:
    """Invariant 2 and P6: every effect has its rule in the trace, and the reverse."""

    @settings(RANDOM, max_examples=400)
    @given(libraries(), histories)
    def test_effects_and_trace_name_the_same_rules(self, library, history):
        for session, event, decision in lived(library, history):
            answered_by = {line.uid for line in decision.trace if line.result in ANSWERED}
            over = {line.uid for line in decision.trace if line.result is TraceResult.BUDGET}
            only_told = over - answered_by
            acted = {plan.uid for plan in decision.plans if not plan.delivers} - only_told
            judged = {reason.uid for reason in decision.reasons}
            waited = {notice.uid for notice in session.notices.waiting}

            assert acted <= answered_by
            assert not only_told & set(decision.fired)
            assert judged <= answered_by
            assert set(decision.fired) <= answered_by
            for plan in decision.plans:
                assert not plan.delivers or plan.uid in acted | waited
            if NOTE.uid in acted:
                assert any(_failed(line) for line in decision.trace)
            for line in decision.trace:
                if line.result is TraceResult.FIRED:
                    assert line.uid in acted | judged or _says_nothing(library, line), event

    @settings(RANDOM, max_examples=300)
    @given(libraries(), histories)
    def test_only_steps_change_what_rules_read(self, library, history):
        for session, event, decision in lived(library, history):
            slate = session.slate
            for _, _, step in decision.numbered_steps():
                slate = slate.after(step)
            assert carried_out(session, event, decision).slate == slate
            if not any(
                isinstance(s, StateSet | RulesEnable) for *_, s in decision.numbered_steps()
            ):
                assert slate == session.slate

    @settings(RANDOM, max_examples=400)
    @given(libraries(), histories, st.sampled_from(StepFault))
    def test_the_last_rule_reads_what_is_kept(self, library, history, meaning):
        """What `decide` works on is what `fold` keeps, step by step."""
        library = [_with_procedure(made, failed_step=meaning) for made in library]
        library = [_with_step(made, UNMADE) for made in library]
        seen = []
        last = rule("last", *KINDS, dialect="policies", when=Check(lambda v: seen.append(v.slate)))
        watching = replace(group("policies", last), visit=99)
        library = [*library, book(watching)]
        for session, event, decision in lived(library, history):
            if any(line.uid == last.uid for line in decision.trace):
                assert carried_out(session, event, decision).slate == seen[-1]


def carried_out(session, event, decision):
    """The session when every step of the decision has ended well."""
    session = fold(session, event, decision)
    for number, _, step in decision.numbered_steps():
        done = EffectDone(of=event.seq, step=number, op=step.op, status=EffectStatus.OK)
        session = fold(session, done, Decision())
    return session


def _with_step(made, maker):
    """Every second rule has one step more at its end."""

    def change(one):
        steps = (*one.plan.steps, maker) if one.origin.line % 2 else one.plan.steps
        return replace(one, plan=replace(one.plan, steps=steps))

    return _change_rules(made, change)


def _failed(line):
    return line.result is TraceResult.GUARD_ERROR or "failed" in line.detail


def _says_nothing(library, line):
    """A rule that only ends its group, whose steps all did not apply, or that denies again."""
    groups = [each for made in library for each in made.groups]
    [found] = [one for each in groups for one in each.rules if one.uid == line.uid] or [None]
    if found is None or found.last or "already denied" in line.detail:
        return True
    gave = [maker for maker in found.plan.steps if maker is not NOTHING]
    return found.judgement is None and (not gave or "failed" in line.detail)


class TestFailClosed:
    """Invariant 3: a guard that breaks never opens a gate."""

    closing = st.sampled_from([GuardFault.DENY, GuardFault.HALT, GuardFault.SKIP_WITH_NOTE])

    @settings(RANDOM, max_examples=400)
    @given(libraries(), histories, closing, st.sampled_from(FAILING), st.integers(0, 99))
    def test_a_broken_guard_of_a_denying_rule(self, library, history, meaning, guard, at):
        library = [_with_procedure(made, guard_error=meaning) for made in library]
        denying = [one.uid for one in _all_rules(library) if _denies(one)]
        if not denying:
            return
        uid = denying[at % len(denying)]
        broken = RuleSet(_with_guard(made, uid, guard) for made in library)
        worst = Verdict.HALT if meaning is GuardFault.HALT else Verdict.DENY
        for session, event, decision in lived(library, history):
            _, now = answered(broken, session, event)
            assert now.verdict >= min(decision.verdict, Verdict.DENY)
            if any((line.uid, line.result) == (uid, "guard_error") for line in now.trace):
                assert now.verdict >= worst


def _all_rules(library):
    return [one for made in library for each in made.groups for one in each.rules]


def _denies(one):
    return one.judgement is not None and one.judgement.verdict >= Verdict.DENY


def _change_groups(made, change):
    return replace(made, groups=tuple(change(each) for each in made.groups))


def _change_rules(made, change):
    return _change_groups(
        made, lambda each: replace(each, rules=tuple(change(one) for one in each.rules))
    )


def _with_procedure(made, **parts):
    return _change_groups(
        made, lambda each: replace(each, procedure=replace(each.procedure, **parts))
    )


def _with_guard(made, uid, guard):
    return _change_rules(made, lambda one: replace(one, guard=guard) if one.uid == uid else one)


class Watched:
    """Asks a guard twice and sees to it that nothing it was shown has changed."""

    def __init__(self, guard):
        self.guard = guard

    def test(self, view):
        before = _shown(view)
        with suppress(Exception):  # what it raises, it raises again below
            self.guard.test(view)
        assert _shown(view) == before
        return self.guard.test(view)


def _shown(view):
    return encode_session(view.session), encode_event(view.event), repr(view.slate), view.now


class TestGuardsOnlyRead:
    """P5"""

    @settings(RANDOM, max_examples=200)
    @given(libraries(), histories)
    def test_asking_a_guard_changes_nothing(self, library, history):
        watched = [
            _change_rules(made, lambda one: replace(one, guard=one.guard and Watched(one.guard)))
            for made in library
        ]
        plain = [as_bytes(decision) for *_, decision in lived(library, history)]

        assert [as_bytes(decision) for *_, decision in lived(watched, history)] == plain


CAUSING = [insert("x"), EventEmit(type="t"), ToolCall(tool="shell")]
CAUSED = (Kind.MESSAGE, Kind.CUSTOM, Kind.TOOL_BEFORE, Kind.TOOL_AFTER)
FIRST = [
    Message(role=Role.USER, text="hi"),
    Custom(type="t"),
    ToolBefore(tool="edit", call="c"),
]


def thrown_storm(dice):
    """A book whose rules answer nearly everything with something that others answer."""
    rules = [
        rule(
            f"r{number}",
            *dice.pick([CAUSED, CAUSED, CAUSED[:2], CAUSED[2:]]),
            steps=[Does(step) for step in dice.some(CAUSING, 2)],
            verdict=dice.pick([None, None, None, Verdict.WARN, Verdict.DENY]),
            line=number,
        )
        for number in range(dice.pick(range(1, 13)))
    ]
    # One step an event, or few rules with all they have: else there are more events than atoms.
    budget = None if len(rules) < 4 else dice.pick([1, 1, 2 if len(rules) < 6 else 1])
    procedure = replace(group("rules").procedure, budget=budget, call_budget=None)
    return Library([book(group("rules", *rules, procedure=procedure))])


class TestFinite:
    """Invariant 6 and P8"""

    @settings(RANDOM, max_examples=150)
    @given(thrown(thrown_storm, 120), st.sampled_from(FIRST))
    def test_no_chain_is_longer_than_8_and_no_rule_acts_twice_in_one(self, storm, event):
        session = Driven(*storm, most=20_000)
        session.submit(event)

        for happened, decision in session.record:
            assert len(happened.cause) <= MAX_CHAIN
            assert len(set(happened.cause)) == len(happened.cause)
            assert not {plan.uid for plan in decision.plans} & set(happened.cause)
        assert_replays(session)

    @settings(RANDOM, max_examples=150)
    @given(libraries(Which(most_rules=3)), histories, st.sampled_from([DONE, FAILED]))
    def test_books_of_every_sort_come_to_rest(self, library, history, outcome):
        library = [_with_step(made, AT_ONCE) for made in library]
        session = Driven(*library, perform=lambda step: outcome, most=20_000)
        session.submit(*history)

        for event, decision in session.record:
            given_cause = any(event.cause == outside.cause for outside in history)
            assert given_cause or len(event.cause) <= MAX_CHAIN
            acted = {plan.uid for plan in decision.plans if not plan.delivers}
            assert not acted & set(event.cause)

    @settings(RANDOM, max_examples=30)
    @given(st.integers(9, 12), st.sampled_from(FIRST[:2]))
    def test_the_bound_is_reached(self, number, event):
        """Otherwise the tests above would prove nothing."""
        rules = [rule(f"r{n}", *CAUSED, steps=[insert("x")], line=n) for n in range(number)]
        session = Driven(book(group("rules", *rules)))
        session.submit(event)
        statuses = [e.status.value for e, _ in session.record if e.kind is Kind.EFFECT]

        assert max(len(e.cause) for e, _ in session.record) == MAX_CHAIN
        assert statuses == ["ok"] * 8 + ["refused"]
