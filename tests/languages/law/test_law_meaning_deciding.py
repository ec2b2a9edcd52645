"""LD-062 to LD-084: which rule matches, what a category demands, emergencies, order."""

import pytest
from driving import assert_replays
from law_rules import RULE, changed
from law_sessions import ALL, DUAL, ID, SINGLE, approved, bus, lint, ops, rules, tells, told, under

from bylaw.model.effects import ApprovalRequest, BusWrite, CommandRun, LockAcquire, LockRelease
from bylaw.model.facts import LawFacts
from bylaw.model.vocabulary import ApprovalState, Authority, Channel, PolicyMode, Verdict

NPM = CommandRun(argv=("npm", "run", "lint"), cwd="src", timeout_s=60)
WAY_OUT = f"approve it with `bylaw approve {ID}`"


class TestARuleThatMatches:
    def test_runs_its_actions_in_order(self):
        """LD-085"""
        session = under(RULE)
        message = session.submit(bus())

        assert message.verdict is Verdict.ALLOW
        assert [step for _, step in message.steps] == [
            LockAcquire(key="lint"),
            NPM,
            BusWrite(channel=Channel.OUTPUT, text=f"done {ID}"),
            LockRelease(key="lint"),
        ]
        assert ops(message) == ALL
        assert message.trace[-1] == ("R-LINT", "fired")
        assert_replays(session)

    @pytest.mark.parametrize(
        "event",
        [
            bus(told={"phase": 3}, phase=3),
            bus(told={"phase": 3, "policy_mode": PolicyMode.RELAXED}),
            bus(category="B"),
            bus(command_type="task"),
            bus(target_paths=["src/a.ts", "lib/b.ts"]),
            bus(target_paths=[]),
            bus(target_paths=["src2/a.ts"]),
        ],
        ids=["phase", "context", "category", "type", "one-path", "no-path", "prefix"],
    )
    def test_does_not_match_anything_else(self, event):
        """LD-042, LD-046, LD-062, LD-063, LD-065, LD-A08"""
        message = under(RULE).submit(event)

        assert ops(message) == ["bus.write"]
        assert told(message) == [("error", "no matching rule")]
        assert message.verdict is Verdict.DENY
        assert message.reasons[-1] == ("no-match", "no matching rule")

    def test_paths_are_normalised_before_they_are_matched(self):
        """LD-011"""
        paths = ["./src//a.ts", "src\\a.ts", "lib/../src/a.ts"]

        assert ops(under(RULE).submit(bus(target_paths=paths))) == ALL

    @pytest.mark.parametrize("phase_in", ["phase_in: [0, 1, 2, 3, 4]", "require_lock: false"])
    @pytest.mark.parametrize("missing", [{"phase": None}, {"phase": LawFacts().phase}])
    def test_an_unknown_phase_closes_every_rule(self, phase_in, missing):
        """LD-017, LD-064, LD-079"""
        text = changed("phase_in: [2]", phase_in, changed("  require_lock: true\n", ""))
        assert ops(under(text).submit(bus(told={"phase": 4}, phase=4))) == ALL
        message = under(text).submit(bus(told=missing))

        assert message.verdict is Verdict.DENY
        ((channel, text),) = told(message)
        assert channel == "error"
        assert text.startswith("no matching rule: the phase is unknown")


class TestCategories:
    def test_a_runs_freely(self):
        """LD-066"""
        assert ops(under(RULE).submit(bus())) == ALL

    @pytest.mark.parametrize("mode", ["single", "dual"])
    def test_a_with_a_stricter_rule_needs_approval(self, mode):
        """LD-A11"""
        text = lint(mode=mode, authorities="[human, antigravity]")

        assert under(text).submit(bus()).verdict is Verdict.ASK
        both = [approved(), approved("antigravity")]
        assert ops(under(text).submit(bus(both))) == ALL

    def test_a_message_may_ask_for_an_approval_and_never_for_less(self):
        """LD-033, LD-A12"""
        assert under(RULE).submit(bus(requires_approval=True)).verdict is Verdict.ASK
        assert ops(under(RULE).submit(bus([approved()], requires_approval=True))) == ALL
        assert ops(under(RULE).submit(bus(requires_approval=False))) == ALL
        message = bus(category="B", requires_approval=False)
        assert under(SINGLE).submit(message).verdict is Verdict.ASK

    def test_what_a_message_asks_for_does_not_hold_a_rule_that_runs_nothing(self):
        assert told(under(tells("T", 1)).submit(bus(requires_approval=True))) == [("output", "T")]

    def test_b_with_one_approval(self):
        """LD-067"""
        held = under(SINGLE).submit(bus(category="B"))
        assert held.verdict is Verdict.ASK
        assert held.reasons == [
            (
                "held",
                f"held: `R-LINT` needs approval by `human` (not approved yet); {WAY_OUT}",
            )
        ]
        assert told(held) == [("error", held.reasons[0][1])]
        assert ops(under(SINGLE).submit(bus([approved()], category="B"))) == ALL

    def test_c_with_two_authorities(self):
        """LD-068"""
        both = [approved(), approved("antigravity")]
        assert ops(under(DUAL).submit(bus(both, category="C"))) == ALL

        held = under(DUAL).submit(bus([approved(), approved()], category="C"))
        assert held.verdict is Verdict.ASK
        wanted = "`R-LINT` needs approval by `human` and `antigravity` (only `human` approved)"
        assert wanted in held.reasons[0][1]

    @pytest.mark.parametrize("mode", ["none", "retroactive"])
    def test_b_is_never_run_unapproved(self, mode):
        """LD-069, LD-077"""
        text = lint(categories="[A, B]", mode=mode)

        assert under(text).submit(bus(category="B")).verdict is Verdict.ASK
        assert ops(under(text).submit(bus([approved("antigravity")], category="B"))) == ALL
        assert ops(under(text).submit(bus())) == ALL

    def test_asking_and_telling_is_not_executing(self):
        """LD-A10"""
        assert told(under(tells("T", 1)).submit(bus(category="B"))) == [("output", "T")]

    @pytest.mark.parametrize(
        ("approval", "why"),
        [
            (approved("antigravity"), "(not approved yet); approve"),
            (approved(id=ID + "2"), "(not approved yet); approve"),
            (
                approved(digest="other"),
                "the approval by `human` is for another text of the message",
            ),
            (approved(category="C"), "the approval by `human` is for category C"),
            (approved(state=ApprovalState.REVOKED), "the approval by `human` is revoked"),
            (approved(state=ApprovalState.EXPIRED), "the approval by `human` is expired"),
        ],
    )
    def test_approvals_that_do_not_count(self, approval, why):
        """LD-071 to LD-073"""
        held = under(SINGLE).submit(bus([approval], category="B"))

        assert held.verdict is Verdict.ASK
        assert why in held.reasons[0][1]


class TestEmergencies:
    """LD-074 to LD-077, LD-A14, LD-A15"""

    text = lint(categories="[A, B, C, D]", mode="dual", authorities="[human, antigravity]")
    own = changed(
        '- {type: write_bus, channel: output, template: "done {{msg_id}}"}',
        "- {type: request_approval, channel: input, to: antigravity,"
        ' payload_template: "late {{msg_id}}"}',
        text,
    )

    def test_run_at_once_and_ask_first(self):
        session = under(self.text)
        message = session.submit(bus(category="D"))

        assert message.verdict is Verdict.ALLOW
        assert ops(message) == ["lock.acquire", "approval.request", *ALL[1:]]
        asked = message.steps[1][1]
        assert asked.to is Authority.HUMAN
        assert ID in asked.text
        assert_replays(session)

    def test_the_own_request_of_the_rule_is_moved(self):
        message = under(self.own).submit(bus(category="D"))

        assert ops(message) == [
            *("lock.acquire", "approval.request", "command.run"),
            *("lock.release", "bus.write"),
        ]
        assert message.steps[1][1] == ApprovalRequest(to=Authority.ANTIGRAVITY, text=f"late {ID}")
        assert told(message) == [("output", "done by R-LINT")]

    def test_a_request_that_cannot_be_written_fails_the_plan(self):
        session = under(self.text, failing="approval.request")
        message = session.submit(bus(category="D"))

        assert ops(message) == ["lock.acquire", "approval.request", "bus.write", "lock.release"]
        assert told(message) == [("error", f"failed {ID}")]

    def test_a_message_that_became_an_emergency_is_asked_for(self):
        message = under(self.text).submit(bus(category="D", retry=1))

        assert ops(message)[:3] == ["lock.acquire", "approval.request", "command.run"]

    def test_without_locks_the_request_is_the_first(self):
        text = changed("  require_lock: true\n", "", self.text)
        text = changed("  - {type: write_processing_lock, lock_key: lint}\n", "", text)

        assert ops(under(text).submit(bus(category="D")))[:2] == ["approval.request", "command.run"]

    def test_retroactive_is_for_emergencies(self):
        text = lint(categories="[B, D]", mode="retroactive")

        assert "approval.request" in ops(under(text).submit(bus(category="D")))
        assert under(text).submit(bus(category="B")).verdict is Verdict.ASK

    def test_a_request_about_an_emergency_asks_for_nothing(self):
        """LD-107"""
        text = tells("T", 1, types="[exec, approval_request]")
        request = bus(category="D", command_type="approval_request")

        assert ops(under(text).submit(request)) == ["bus.write"]
        assert ops(under(text).submit(bus(category="D"))) == ["approval.request", "bus.write"]


class TestOrder:
    def test_ascending_priority_then_file_then_position(self):
        """LD-080, LD-081, LD-A29"""
        goes_on = "continue: true"
        first = rules(
            tells("P100", 100, goes_on), tells("P1", 1, goes_on), tells("P50", 50, goes_on)
        )
        second = rules(tells("Q50", 50, goes_on), tells("R50", 50, goes_on))

        assert [text for _, text in told(under(first, second).submit(bus()))] == [
            *("P1", "P50", "Q50", "R50", "P100"),
        ]

    def test_the_first_match_wins(self):
        """LD-082"""
        text = rules(tells("ONE", 1), tells("TWO", 2))

        assert told(under(text).submit(bus())) == [("output", "ONE")]

    def test_a_rule_whose_guard_fails_is_no_match(self):
        """LD-083"""
        text = rules(tells("ONE", 1, "guards: {phase_in: [3]}"), tells("TWO", 2))

        assert told(under(text).submit(bus())) == [("output", "TWO")]

    def test_continue_lets_later_rules_be_considered(self):
        """LD-084"""
        text = rules(tells("ONE", 1, "continue: true"), tells("TWO", 2), tells("THREE", 3))

        assert [text for _, text in told(under(text).submit(bus()))] == ["ONE", "TWO"]

    def test_evaluation_stops_after_a_failed_rule(self):
        """LD-086, LD-A30"""
        text = rules(RULE + "continue: true\n", tells("TWO", 20))
        message = under(text, failing="command.run").submit(bus())

        assert told(message) == [("error", f"failed {ID}")]
        assert ops(message) == ["lock.acquire", "command.run", "bus.write", "lock.release"]

    def test_no_match_is_evidence(self):
        """LD-089"""
        message = under(tells("T", 1, types="[task]")).submit(bus())

        assert told(message) == [("error", "no matching rule")]
        assert message.reasons == [("no-match", "no matching rule")]
