"""RULE_DSL in the common form: first match, approvals, locks, failures, a file that is broken."""

import pytest
from driving import DONE, FAILED, Driven, assert_replays
from forms import Makes, book, group, rule
from msgspec.structs import replace
from msgspec.structs import replace as changed

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.languages.base import add_stand_ins
from bylaw.model.decision import Need, NeedName, Needs, OnFailure
from bylaw.model.effects import (
    ApprovalRequest,
    BusWrite,
    CommandRun,
    LockAcquire,
    LockRelease,
    Outcome,
    OutcomePart,
)
from bylaw.model.errors import RenderError
from bylaw.model.event import Bus, File
from bylaw.model.facts import Approval, LawFacts
from bylaw.model.rule import ApprovalGate, ApprovalMode, CategoryGate, Filter, PhaseGate
from bylaw.model.session import Session
from bylaw.model.vocabulary import ApprovalState, Authority, Change, Channel, Kind, Op, Verdict

MESSAGE = {
    "msg_id": "m1",
    "command_type": "exec",
    "category": "B",
    "target_paths": ["src/a.py", "src/b.py"],
}
RUN = CommandRun(argv=("make", "lint"), cwd="src", timeout_s=60)
TELL = BusWrite(channel=Channel.OUTPUT, text=("exit ", Outcome(OutcomePart.EXIT_CODE)))
SINGLE = ApprovalGate(ApprovalMode.SINGLE, (Authority.HUMAN,))
LOCK = LockAcquire(key="lint")
UNLOCK = LockRelease(key="lint")
ON_ERROR = (BusWrite(channel=Channel.ERROR, text=Outcome(OutcomePart.ERROR)), UNLOCK)


def law_rule(rule_id, *steps, kinds=(Kind.BUS,), **fields):
    return rule(
        rule_id,
        *kinds,
        dialect="law",
        steps=steps,
        on_failure=OnFailure.ON_ERROR,
        ends_group_on_failure=True,
        **fields,
    )


def law(*rules):
    return book(group("law", *rules))


def bus(category="B", approvals=(), retry=0, phase=2, **fields):
    return Bus(
        message={**MESSAGE, "category": category},
        digest="d1",
        retry=retry,
        facts=LawFacts(approvals=tuple(approvals), phase=phase),
        **fields,
    )


def approved(by="human", **fields):
    given = {"id": "m1", "authority": by, "state": ApprovalState.GRANTED, "digest": "d1"}
    return Approval(**{**given, **fields})


class TestFirstMatchWhereTheFirstRuleLacksItsApproval:
    """LD-067, LD-A28"""

    run = law_rule("run", RUN, priority=1, gates=(SINGLE,))
    ask = law_rule(
        "ask",
        # Steps `approval.request` are kept only when `retry` is 0.
        Makes(
            Op.APPROVAL_REQUEST,
            lambda view, match: (
                None if view.event.retry else ApprovalRequest(to=Authority.HUMAN, text="please")
            ),
        ),
        priority=2,
    )
    category_a = law_rule("a", RUN, priority=3, gates=(CategoryGate(("A",)),))

    def test_the_approvals_are_a_need(self):
        asked = decide(RuleSet([law(self.run)]), Session(), Bus(message=MESSAGE))

        assert asked == Needs((Need(NeedName.APPROVALS, "m1"),))

    def test_alone_it_is_held(self):
        session = Driven(law(self.run))
        message = session.submit(bus())

        assert message.verdict is Verdict.ASK
        assert message.reasons == [("held", "held until it is approved")]
        assert message.trace == [("run", "gated"), ("held", "fired")]
        assert message.details == ["approval"]
        assert message.decision.reasons[0].uid == "law:builtin#held"
        assert_replays(session)

    def test_the_rule_that_asks_fires_and_the_message_stays_held(self):
        session = Driven(law(self.run, self.ask, self.category_a))
        message = session.submit(bus())

        assert message.verdict is Verdict.ASK
        assert message.trace == [("run", "gated"), ("ask", "fired"), ("held", "fired")]
        assert message.steps == [("ask", ApprovalRequest(to=Authority.HUMAN, text="please"))]

        again = session.submit(bus(retry=1))
        assert again.verdict is Verdict.ASK
        assert again.steps == []
        assert_replays(session)

    def test_with_the_approval_the_first_rule_runs_and_ends_the_group(self):
        session = Driven(law(self.run, self.ask))
        message = session.submit(bus(approvals=[approved()]))

        assert message.verdict is Verdict.ALLOW
        assert message.trace == [("run", "fired")]
        assert message.done == [(RUN, "ok")]
        assert_replays(session)

    @pytest.mark.parametrize(
        "approval",
        [
            approved(by="antigravity"),
            approved(id="m2"),
            approved(digest="other"),
            approved(category="C"),
            approved(state=ApprovalState.REVOKED),
            approved(state=ApprovalState.EXPIRED),
        ],
        ids=["authority", "message", "digest", "category", "revoked", "expired"],
    )
    def test_an_approval_of_something_else_does_not_count(self, approval):
        session = Driven(law(self.run))

        assert session.submit(bus(approvals=[approval])).verdict is Verdict.ASK
        assert_replays(session)

    def test_a_later_rule_that_runs_a_command_is_enough(self):
        other = law_rule("other", RUN, priority=2)
        session = Driven(law(self.run, other))
        message = session.submit(bus())

        assert message.verdict is Verdict.ALLOW
        assert message.trace == [("run", "gated"), ("other", "fired")]
        assert_replays(session)

    def test_another_closed_gate_means_that_approval_was_not_all(self):
        phase = replace(self.run, gates=(PhaseGate((3,)), SINGLE))
        session = Driven(law(phase))
        message = session.submit(bus())

        assert message.verdict is Verdict.DENY
        assert message.details == ["phase, approval"]
        assert message.reasons == [("no-match", "no matching rule")]
        assert message.steps == [
            ("no-match", BusWrite(channel=Channel.ERROR, text="no matching rule"))
        ]
        assert_replays(session)

    def test_what_no_rule_is_about_has_no_matching_rule(self):
        """LD-089: the index leaves no candidate, the closing rules are asked all the same."""
        tasks = replace(self.run, filter=Filter(command_types=("task",)))
        docs = replace(self.run, filter=Filter(paths=("docs/**",)))
        session = Driven(law(tasks, docs))
        message = session.submit(bus())

        assert message.trace == [("no-match", "fired")]
        assert message.verdict is Verdict.DENY
        assert_replays(session)

    def test_an_unknown_approval_keeps_the_gate_closed(self):
        session = Driven(law(self.run))
        message = session.submit(changed(bus(), facts=LawFacts(phase=2)))

        assert message.event.facts.unknown == ("approvals:m1",)
        assert message.verdict is Verdict.ASK
        assert_replays(session)

    def test_two_different_authorities_for_dual(self):
        """LD-068"""
        both = (Authority.HUMAN, Authority.ANTIGRAVITY)
        dual = replace(self.run, gates=(ApprovalGate(ApprovalMode.DUAL, both),))
        verdicts = [
            Driven(law(dual)).submit(bus(approvals=approvals)).verdict
            for approvals in (
                [approved(), approved()],
                [approved(), approved(by="antigravity")],
            )
        ]

        assert verdicts == [Verdict.ASK, Verdict.ALLOW]


class TestALockLostAtStep1:
    """LD-078, LD-A24, LD-A27"""

    lock = law_rule("locked", LOCK, RUN, TELL, UNLOCK, on_error=ON_ERROR, goes_on=True)
    second = law_rule("second", BusWrite(channel=Channel.OUTPUT, text="second"), line=2)

    def test_nothing_but_on_error_is_tried(self):
        lost = {LOCK: FAILED}
        session = Driven(law(self.lock), perform=lambda step: lost.get(step, DONE))
        message = session.submit(bus())

        assert message.verdict is Verdict.ALLOW
        assert message.trace == [("locked", "fired")]
        assert [step for _, step in message.steps] == [LOCK, RUN, TELL, UNLOCK]
        assert session.session.firings[self.lock.uid].count == 1
        assert message.done == [
            (LOCK, "failed"),
            (BusWrite(channel=Channel.ERROR, text="it failed"), "ok"),
            (UNLOCK, "ok"),
        ]
        assert [failure.plan.rule for failure in message.ending.failures] == ["locked"]
        assert_replays(session)

    def test_each_step_of_on_error_is_tried_once(self):
        session = Driven(law(self.lock), perform=lambda step: FAILED)
        message = session.submit(bus())

        assert [step.op.value for step, _ in message.performed] == [
            "lock.acquire",
            "bus.write",
            "lock.release",
        ]
        assert_replays(session)

    def test_numbers_of_steps_do_not_depend_on_what_failed(self):
        session = Driven(
            law(self.lock, self.second), perform=lambda step: FAILED if step == LOCK else DONE
        )
        session.submit(bus())
        numbers = [e.step for e, _ in session.record if e.kind is Kind.EFFECT]

        assert numbers == [1, 6, 7]  # four steps, one of the second rule, then on_error
        assert_replays(session)


class TestContinueAfterAFailure:
    """LD-A30: evaluation stops after a failed rule."""

    first = law_rule("first", RUN, TELL, on_error=ON_ERROR[:1], goes_on=True)
    second = law_rule("second", BusWrite(channel=Channel.OUTPUT, text="second"), line=2)
    third = law_rule("third", RUN, line=3)

    def test_the_plans_of_both_are_decided(self):
        session = Driven(law(self.first, self.second, self.third))
        message = session.submit(bus())

        assert message.verdict is Verdict.ALLOW
        assert message.trace == [("first", "fired"), ("second", "fired")]
        assert set(session.session.firings) == {self.first.uid, self.second.uid}
        assert [plan.rule for plan in message.decision.plans] == ["first", "second"]
        assert [plan.group for plan in message.decision.plans] == ["law:runtime/rules#law"] * 2
        assert [step.op.value for step, _ in message.performed] == [
            "command.run",
            "bus.write",
            "bus.write",
        ]
        assert_replays(session)

    def test_a_failure_ends_the_group(self):
        session = Driven(
            law(self.first, self.second), perform=lambda step: FAILED if step == RUN else DONE
        )
        message = session.submit(bus())

        assert message.done == [
            (RUN, "failed"),
            (BusWrite(channel=Channel.ERROR, text="it failed"), "ok"),
        ]
        assert_replays(session)

    def test_a_step_that_cannot_be_computed_fails_the_plan_in_place(self):
        def fail(view, match):
            raise RenderError("unknown-field", "`{{nosuch}}` is no field")

        broken = law_rule(
            "broken", LOCK, Makes(Op.BUS_WRITE, fail), RUN, on_error=ON_ERROR, goes_on=True
        )
        session = Driven(law(broken, self.second))
        message = session.submit(bus())

        assert message.details == ["step 2 failed: unknown-field: `{{nosuch}}` is no field"]
        assert message.done == [
            (LOCK, "ok"),
            (BusWrite(channel=Channel.ERROR, text="`{{nosuch}}` is no field"), "ok"),
            (UNLOCK, "ok"),
        ]
        assert_replays(session)


class TestABrokenFileInAFirstMatchGroup:
    """Invariant 3: a broken file closes the group."""

    stand_in = rule(
        "does-not-load:b.yaml",
        *(Kind.BUS, Kind.FILE),
        dialect="law",
        path="builtin",
        verdict=Verdict.DENY,
        because="`b.yaml` does not load",
        rank=-1,
        free=True,
        once=True,
    )
    run = law_rule("run", RUN, priority=-100)
    watch = law_rule(
        "watch",
        RUN,
        kinds=(Kind.FILE,),
        filter=Filter(paths=("src/**",), changes=(Change.MODIFIED, Change.RENAMED)),
    )

    def closed(self):
        groups = add_stand_ins((group("law", self.run, self.watch),), "law", [self.stand_in])
        return Driven(book(*groups))

    def test_no_other_rule_of_the_group_is_asked_not_even_later(self):
        session = self.closed()
        for _ in range(2):
            message = session.submit(bus())
            assert message.verdict is Verdict.DENY
            assert message.reasons == [("does-not-load:b.yaml", "`b.yaml` does not load")]
            assert message.trace == [("does-not-load:b.yaml", "fired")]
            assert message.steps == []
        assert session.session.firings[self.stand_in.uid].count == 2
        assert_replays(session)

    def test_events_of_every_kind_that_the_file_could_gate(self):
        session = self.closed()
        event = File(change=Change.MODIFIED, path="src/a.py", facts=LawFacts(phase=2))

        assert session.submit(event).trace == [("does-not-load:b.yaml", "fired")]
        assert_replays(session)

    @pytest.mark.parametrize(
        ("path", "old_path", "fires"),
        [("src/a.py", "", True), ("x/a.py", "src/a.py", True), ("x/a.py", "", False)],
    )
    def test_without_it_the_others_are(self, path, old_path, fires):
        """LD-A05: a rename is about either of its names."""
        session = Driven(law(self.run, self.watch))
        event = File(change=Change.RENAMED, path=path, old_path=old_path)

        assert session.submit(event).trace == ([("watch", "fired")] if fires else [])
        assert session.submit(bus()).trace == [("run", "fired")]
        assert_replays(session)
