"""Following plans."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.engine.plan import DONE, INTERRUPTED, DueStep, PlanEnd, StepOutcome, follow, next_step
from bylaw.model.decision import Decision, OnFailure, Plan, immediate_steps
from bylaw.model.effects import (
    BusWrite,
    CommandRun,
    EntryWrite,
    LockAcquire,
    LockRelease,
    Log,
    MessageInsert,
    Notify,
    Outcome,
    OutcomePart,
    PromptShow,
    ResponseUse,
    RulesEnable,
    StateSet,
)
from bylaw.model.vocabulary import Channel, EffectStatus, EntryStatus, Role

ERROR, EXIT_CODE = Outcome(OutcomePart.ERROR), Outcome(OutcomePart.EXIT_CODE)
FAILED = StepOutcome(EffectStatus.FAILED, {"error": "boom", "exit_code": 1})


def plan(*steps, **fields):
    return Plan(uid="law:a.yaml#a", rule="a", steps=steps, **fields)


def log(text):
    return Log(text=text)


def evidence(text):
    return BusWrite(channel=Channel.ERROR, text=text)


def run(*argv):
    return CommandRun(argv=argv, cwd=".", timeout_s=60)


def entry(status, result=None):
    return EntryWrite(hash="8420d67ae38f", status=status, policy="p", baseline="b", result=result)


def perform(*plans, fails=()):
    """The steps that were begun, by number, when these numbers fail; and the ending."""
    following = follow(Decision(plans=plans))
    begun = {}
    try:
        due = next(following)
        while True:
            assert due.number not in begun
            begun[due.number] = due.step
            due = following.send(FAILED if due.number in fails else DONE)
    except StopIteration as end:
        return begun, end.value


class TestInOrder:
    def test_step_after_step_and_plan_after_plan(self):
        """LD-085"""
        begun, ending = perform(plan(log("a"), log("b")), plan(log("c")))

        assert list(begun.items()) == [(1, log("a")), (2, log("b")), (3, log("c"))]
        assert ending == PlanEnd()

    def test_a_due_step_says_where_it_stands(self):
        first, second = plan(log("a")), plan(log("b"))
        decision = Decision(plans=(first, second))

        assert next_step(decision) == DueStep(1, first, log("a"))
        assert next_step(decision, {1: DONE}) == DueStep(2, second, log("b"))
        assert next_step(decision, {1: DONE, 2: DONE}) == PlanEnd()

    def test_a_decision_without_plans_is_followed_at_once(self):
        assert next_step(Decision()) == PlanEnd()

    @pytest.mark.parametrize(
        "step",
        [
            StateSet(space="toml:", name="x", value=1),
            RulesEnable(),
            ResponseUse(id="r"),
            Notify(text="n"),
        ],
        ids=lambda step: step.op,
    )
    def test_what_folding_did_is_not_due_and_keeps_its_number(self, step):
        begun, ending = perform(plan(step, log("a")))

        assert begun == {2: log("a")}
        assert not ending.failures

    def test_what_nobody_folded_is_due(self):
        """Only steps are folded, `on_error` is not: nothing is dropped in silence."""
        begun, _ = perform(plan(log("a"), on_error=(Notify(text="n"),)), fails={1})

        assert begun == {1: log("a"), 2: Notify(text="n")}


class TestFailure:
    @pytest.mark.parametrize("status", [s for s in EffectStatus if s is not EffectStatus.OK])
    def test_everything_but_ok_is_a_failure(self, status):
        """LD-087: what was not carried out was not done, so what follows must not rely on it."""
        locked = plan(LockAcquire(key="k"), run("pytest"))
        outcome = StepOutcome(status)
        [failure] = next_step(Decision(plans=(locked,)), {1: outcome}).failures

        assert (failure.plan, failure.outcome) == (locked, outcome)

    def test_drop_rest_goes_on_with_the_next_plan(self):
        """CM-A39, CM-091, TR-112"""
        failing = plan(log("a"), log("b"), log("c"))
        begun, ending = perform(failing, plan(log("d")), fails={2})

        assert begun == {1: log("a"), 2: log("b"), 4: log("d")}
        assert [failure.plan for failure in ending.failures] == [failing]
        assert ending.halted is None

    def test_halt_stops_all_plans(self):
        failing = plan(log("a"), log("b"), on_failure=OnFailure.HALT)
        begun, ending = perform(failing, plan(log("c")), fails={1})

        assert begun == {1: log("a")}
        assert ending.halted.plan == failing
        assert ending.halted.outcome == FAILED

    def test_a_plan_that_does_not_fail_does_not_halt(self):
        assert perform(plan(log("a"), on_failure=OnFailure.HALT))[1].halted is None

    def test_a_group_ends_and_others_go_on(self):
        """LD-086: `continue` does not help after a failure."""
        failing = plan(log("a"), group="law", ends_group_on_failure=True)
        others = plan(log("b"), group="law"), plan(log("c"), group="toml")
        begun, ending = perform(failing, *others, fails={1})

        assert begun == {1: log("a"), 3: log("c")}
        assert len(ending.failures) == 1

    def test_a_group_goes_on_when_the_plan_does_not_end_it(self):
        begun, _ = perform(plan(log("a"), group="g"), plan(log("b"), group="g"), fails={1})

        assert list(begun) == [1, 2]

    def test_what_could_not_be_computed_fails_the_plan_in_its_place(self):
        """LD-105: the lock that was taken before is released."""
        release = LockRelease(key="k")
        failing = plan(
            LockAcquire(key="k"),
            broken="`secret` is no field",
            on_failure=OnFailure.ON_ERROR,
            on_error=(evidence(ERROR), release),
        )
        begun, ending = perform(failing)

        assert begun == {1: LockAcquire(key="k"), 2: evidence("`secret` is no field"), 3: release}
        assert [failure.plan for failure in ending.failures] == [failing]

    def test_a_failure_before_hides_what_could_not_be_computed(self):
        failing = plan(log("a"), broken="x", on_error=(evidence(ERROR),))

        assert perform(failing, fails={1})[0][2] == evidence("boom")


class TestOnError:
    recovering = plan(
        LockAcquire(key="k"),
        run("pytest"),
        log("done"),
        on_failure=OnFailure.ON_ERROR,
        ends_group_on_failure=True,
        group="law",
        on_error=(evidence(("failed: ", ERROR)), LockRelease(key="k")),
    )

    def test_nothing_failed(self):
        assert list(perform(self.recovering)[0]) == [1, 2, 3]

    def test_it_replaces_the_rest(self):
        """LD-086; numbers go on behind those of all plans"""
        begun, _ = perform(self.recovering, plan(log("a")), fails={2})

        assert list(begun) == [1, 2, 5, 6, 4]
        assert begun[5] == evidence("failed: boom")

    @pytest.mark.parametrize("fails", [{1, 4}, {1, 5}, {1, 4, 5}])
    def test_a_failing_one_stops_no_other_and_starts_nothing_anew(self, fails):
        """LD-088, LD-A27"""
        begun, ending = perform(self.recovering, fails=fails)

        assert list(begun) == [1, 4, 5]
        assert len(ending.failures) == 1

    def test_all_tell_of_the_failure_and_not_of_one_another(self):
        failing = plan(log("a"), on_error=(evidence("x"), evidence(ERROR)))
        outcomes = {1: FAILED, 2: StepOutcome(EffectStatus.TIMEOUT, "disk full")}

        assert next_step(Decision(plans=(failing,)), outcomes).step == evidence("boom")

    def test_then_the_group_ends(self):
        begun, _ = perform(self.recovering, plan(log("a"), group="law"), fails={1})

        assert list(begun) == [1, 5, 6]

    @pytest.mark.parametrize("on_failure", list(OnFailure))
    def test_no_policy_ignores_it(self, on_failure):
        """A note on the failure is wanted by more languages than the one that writes `on_error`."""
        failing = plan(log("a"), on_failure=on_failure, on_error=(log("note"),))

        assert perform(failing, fails={1})[0] == {1: log("a"), 2: log("note")}


class TestMarkEntry:
    """A command policy: its plan writes the entry, runs, and writes the entry again."""

    def policy(self, *between, last=EntryStatus.PASSED):
        written = entry(last, result=EXIT_CODE)
        steps = (entry(EntryStatus.QUEUED), *between, written)
        return plan(*steps, on_failure=OnFailure.MARK_ENTRY)

    def test_a_command_that_succeeds_passes_the_entry(self):
        assert perform(self.policy(run("fmt")))[0][3].status is EntryStatus.PASSED

    def test_a_command_that_fails_fails_the_entry(self):
        """DW-097, DW-A46: with the result of the command, under the number of its step"""
        begun, ending = perform(self.policy(run("fmt", "a"), run("fmt", "b")), fails={2})

        assert begun[4] == entry(EntryStatus.FAILED, result="1")
        assert len(ending.failures) == 1

    def test_a_command_that_fails_keeps_no_other_of_the_entry_from_running(self):
        """DW-071: they go side by side, and each is recorded"""
        begun, ending = perform(self.policy(run("a"), run("b"), run("c")), fails={2, 4})

        assert list(begun) == [1, 2, 3, 4, 5]
        assert begun[5].status is EntryStatus.FAILED
        assert len(ending.failures) == 1

    def test_nothing_runs_beside_a_command_that_was_interrupted(self):
        """Nobody knows which of them took place."""
        decision = Decision(plans=(self.policy(run("a"), run("b")),))
        due = next_step(decision, {1: DONE, 2: INTERRUPTED})

        assert due.step.status is EntryStatus.FAILED

    def test_an_entry_that_waits_for_a_promise_is_never_failed(self):
        """DW-144"""
        show = PromptShow(policy="p", text="t")
        begun, _ = perform(self.policy(show, last=EntryStatus.QUEUED), fails={2})

        assert list(begun) == [1, 2]

    def test_a_mark_that_cannot_be_written_is_not_tried_again(self):
        begun, ending = perform(self.policy(run("fmt")), fails={2, 3})

        assert list(begun) == [1, 2, 3]
        assert len(ending.failures) == 1

    def test_other_policies_mark_nothing(self):
        steps = run("fmt"), entry(EntryStatus.PASSED)

        assert list(perform(plan(*steps), fails={1})[0]) == [1]


class TestReferences:
    def test_they_are_filled_from_the_same_plan_alone(self):
        said = MessageInsert(role=Role.DEVELOPER, text=("code ", EXIT_CODE))
        outcomes = {1: StepOutcome(EffectStatus.OK, {"exit_code": 0})}
        same, other = plan(run("a"), said), plan(said)

        assert next_step(Decision(plans=(same,)), outcomes).step.text == "code 0"
        assert next_step(Decision(plans=(plan(run("a")), other)), outcomes).step.text == "code "


class TestAfterACrash:
    decision = Decision(plans=(TestOnError.recovering,))

    def test_what_has_an_outcome_is_not_begun_again(self):
        following = follow(self.decision, {1: DONE})

        assert next(following).number == 2
        assert following.send(DONE).number == 3

    def test_a_step_that_had_started_is_failed_interrupted_and_never_begun_again(self):
        """LD-A26: the message gets its evidence and is not run again"""
        started = next_step(self.decision, {1: DONE})
        due = next_step(self.decision, {1: DONE, started.number: INTERRUPTED})

        assert due.step == evidence("failed: interrupted")

    def test_an_interrupted_step_of_on_error_is_not_begun_again_either(self):
        outcomes = {1: FAILED, 4: INTERRUPTED}

        assert next_step(self.decision, outcomes).step == LockRelease(key="k")


STEPS = st.sampled_from(
    [
        log("a"),
        run("a"),
        Notify(text="n"),
        entry(EntryStatus.PASSED, result=(ERROR, EXIT_CODE)),
        entry(EntryStatus.QUEUED),
        evidence(ERROR),
    ]
)
PLANS = st.builds(
    Plan,
    uid=st.just("law:a.yaml#a"),
    rule=st.just("a"),
    group=st.sampled_from("gh"),
    steps=st.lists(STEPS, max_size=4).map(tuple),
    on_failure=st.sampled_from(OnFailure),
    ends_group_on_failure=st.booleans(),
    on_error=st.lists(STEPS, max_size=3).map(tuple),
    broken=st.sampled_from(["", "", "x"]),
)
DECISIONS = st.lists(PLANS, max_size=4).map(lambda plans: Decision(plans=tuple(plans)))
OUTCOMES = st.builds(StepOutcome, st.just(EffectStatus.OK) | st.sampled_from(EffectStatus))


def drive(decision, data):
    """Random outcomes for every step that becomes due; the outcomes, in order, and the ending."""
    outcomes, following = {}, follow(decision)
    due = send(following, None)
    while isinstance(due, DueStep):
        assert due.number not in outcomes
        assert due == next_step(decision, outcomes)  # followed in one go or asked anew: the same
        outcomes[due.number] = data.draw(OUTCOMES)
        due = send(following, outcomes[due.number])
    assert due == next_step(decision, outcomes)
    return outcomes, due


def send(following, outcome):
    try:
        return following.send(outcome)
    except StopIteration as end:
        return end.value


def numbers_by_plan(decision):
    folded = immediate_steps(decision.plans)
    for place, (whose, steps, on_error) in enumerate(decision.numbered_plans()):
        due = [number for at, (number, _) in enumerate(steps) if (place, at) not in folded]
        yield whose, due, [number for number, _ in on_error]


@given(DECISIONS)
def test_numbers_are_unique_and_without_gaps(decision):
    numbered = list(decision.numbered_plans())
    steps = [number for _, of_plan, _ in numbered for number, _ in of_plan]
    on_error = [number for _, _, of_plan in numbered for number, _ in of_plan]

    assert [*steps, *on_error] == list(range(1, len(steps) + len(on_error) + 1))
    assert [number for number, _, _ in decision.numbered_steps()] == steps


@settings(deadline=None)
@given(DECISIONS, st.data())
def test_plans_end_steps_are_begun_once_and_in_order(decision, data):
    """Invariant 6: `drive` returns, and refuses a step that becomes due twice."""
    outcomes, _ = drive(decision, data)
    plans = numbers_by_plan(decision)
    order = [number for _, steps, on_error in plans for number in (*steps, *on_error)]

    assert list(outcomes) == [number for number in order if number in outcomes]


@settings(deadline=None)
@given(DECISIONS, st.data())
def test_each_plan_is_done_or_failed_or_left_out_for_a_reason(decision, data):
    outcomes, ending = drive(decision, data)
    halted, ended = False, set()
    for whose, steps, on_error in numbers_by_plan(decision):
        left_out = halted or whose.group in ended
        begun = {number for number in steps if number in outcomes}
        fails = any(outcomes[number].failed for number in begun) or bool(whose.broken)
        recovered = {number for number in on_error if number in outcomes}
        if left_out:
            assert not begun | recovered
            continue
        assert fails or begun == set(steps)
        assert recovered == (set(on_error) if fails else set())
        halted = fails and whose.on_failure is OnFailure.HALT
        ended |= {whose.group} if fails and whose.ends_group_on_failure else set()

    assert bool(ending.halted) == halted
