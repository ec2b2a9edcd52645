"""LD-085 to LD-105: held messages, locks, templates, folders, commands of a message."""

import pytest
from driving import assert_replays
from law_rules import RULE, changed
from law_sessions import ALL, DUAL, ID, MSG, SINGLE, approved, bus, ops, rules, tells, told, under

from bylaw.model.effects import CommandRun, LockAcquire
from bylaw.model.facts import LawFacts
from bylaw.model.vocabulary import Verdict

NPM = CommandRun(argv=("npm", "run", "lint"), cwd="src", timeout_s=60)
ASKS = """\
rule_id: ASK
priority: 20
trigger: {kind: bus_input, match: {command_types: [exec]}}
guards: {category_in: [B, C]}
actions:
  - {type: request_approval, channel: input, to: human, payload_template: "please {{msg_id}}"}
"""


class TestHeld:
    def test_the_rule_that_asks_fires_once_and_the_message_stays_held(self):
        """LD-A28"""
        session = under(rules(SINGLE, ASKS, tells("LATE", 30)))
        first = session.submit(bus(category="B"))
        assert first.verdict is Verdict.ASK
        assert ops(first) == ["approval.request", "bus.write"]
        assert first.trace[-3:] == [("R-LINT", "gated"), ("ASK", "fired"), ("held", "fired")]

        again = session.submit(bus(category="B", retry=1))
        assert again.verdict is Verdict.ASK
        assert ops(again) == ["bus.write"]
        assert "LATE" not in dict(again.trace)

        done = session.submit(bus([approved()], category="B", retry=2))
        assert done.verdict is Verdict.ALLOW
        assert ops(done) == ALL
        assert_replays(session)

    def test_not_after_a_command_ran_which_would_run_twice(self):
        text = rules(SINGLE + "continue: true\n", changed("R-LINT", "R-TWO", DUAL))
        message = under(text).submit(bus([approved()], category="B"))

        assert message.verdict is Verdict.ALLOW
        assert ops(message) == ALL

    def test_another_closed_gate_means_that_approval_is_not_all(self):
        message = under(SINGLE).submit(bus(category="B", phase=3, told={"phase": 3}))

        assert message.verdict is Verdict.DENY

    def test_what_only_asks_leaves_evidence_all_the_same(self):
        """LD-003"""
        text = changed("[B, C]", "[A]", ASKS)

        assert told(under(text).submit(bus())) == [("output", "done by `ASK`")]


class TestLocks:
    def test_a_lock_that_is_not_given_back_is_given_back_at_the_end(self):
        """LD-092"""
        text = RULE.replace("  - {type: release_lock, lock_key: lint}\n", "")

        assert ops(under(text).submit(bus())) == ALL
        failed = under(text, failing="command.run").submit(bus())
        assert ops(failed) == ["lock.acquire", "command.run", "bus.write", "lock.release"]

    def test_a_lost_lock_runs_nothing(self):
        """LD-078, LD-090"""
        message = under(RULE, failing="lock.acquire").submit(bus())

        assert ops(message) == ["lock.acquire", "bus.write", "lock.release"]

    def test_the_key_is_filled_and_must_stay_a_plain_name(self):
        """LD-094, LD-A40"""
        text = RULE.replace("lock_key: lint", 'lock_key: "{{title}}"')
        assert under(text).submit(bus(title="a-b.c")).steps[0][1] == LockAcquire(key="a-b.c")

        for title in ("../../x", "a/b", "", "x" * 101):
            message = under(text).submit(bus(title=title))
            assert ops(message) == ["bus.write"]
            assert "invalid lock name: " in message.details[-1]


class TestTemplates:
    """LD-105, LD-A20"""

    def text(self, template):
        return tells("T", 1).replace("{{rule_id}}", template)

    def test_all_fields_of_a_message(self):
        names = [*MSG, "rule_id", "ts", "path", "type"]
        template = "|".join(f"{{{{{name}}}}}" for name in names)
        event = bus(target_paths=["src/a.ts", "b"], notes="n")

        ((_, text),) = told(under(self.text(template)).submit(event))
        assert text == (
            f"{ID}|command|exec|2|A|Fix lint|src/a.ts, b|src/a.ts|cursor|n|T"
            "|1970-01-01T00:00:00.001Z||"
        )

    def test_nothing_is_filled_in_twice(self):
        message = under(self.text("{{title}}")).submit(bus(title="{{msg_id}}{{exit_code}}"))

        assert told(message) == [("output", "{{msg_id}}{{exit_code}}")]

    def test_an_unknown_field_fails_the_action(self):
        message = under(self.text("{{secret}}")).submit(bus())

        assert told(message) == [("error", "T failed: unknown template field `secret`")]

    def test_outcomes(self):
        text = changed("done {{msg_id}}", "exit {{exit_code}}")
        message = under(text).submit(bus())

        assert told(message) == [("output", "exit ")]

    def test_a_text_has_an_end(self):
        message = under(self.text("{{notes}}" * 6)).submit(bus(notes="x" * 100_000))

        assert "longer than 500,000 characters" in told(message)[0][1]


class TestFolders:
    @pytest.mark.parametrize("cwd", ["src", "src/sub", "./src", "src/"])
    def test_within(self, cwd):
        """LD-099"""
        message = under(changed("cwd: src", f"cwd: {cwd}")).submit(bus())

        assert ops(message) == ALL
        assert message.steps[1][1].cwd in ("src", "src/sub")

    @pytest.mark.parametrize("cwd", [".", "lib", "src-evil", "src/../lib", "src/../src", "..."])
    def test_not_within(self, cwd):
        message = under(changed("cwd: src", f"cwd: {cwd}")).submit(bus())

        assert ops(message) == ["lock.acquire", "bus.write", "lock.release"]
        assert "is not within the allowed folders: `src`" in message.details[-1]

    @pytest.mark.parametrize("roots", [(), LawFacts().allowed_roots, ("/",), ("..",), ("src/..",)])
    def test_without_roots_nothing_runs(self, roots):
        """LD-020, LD-A22"""
        message = under(RULE).submit(bus(told={"allowed_roots": roots}))

        assert "command.run" not in ops(message)
        assert "no folder is allowed for commands" in message.details[-1]

    @pytest.mark.parametrize("cwd", [".", "src", "lib/x"])
    def test_the_root_itself_allows_all_below(self, cwd):
        text = changed("cwd: src", f"cwd: {cwd}")
        message = under(text).submit(bus(told={"allowed_roots": (".",)}))

        assert ops(message) == ALL


class TestWhatAMessageBrings:
    """LD-032, LD-A18"""

    text = changed('"npm run lint"', '"{{run}}"', SINGLE)

    def test_runs_in_order_when_it_is_approved(self):
        run = ["npm test", "python -c 'print(1); print(2)'"]
        message = under(self.text).submit(bus([approved()], category="B", run=run))

        assert [step.argv for _, step in message.steps if isinstance(step, CommandRun)] == [
            ("npm", "test"),
            ("python", "-c", "print(1); print(2)"),
        ]
        assert under(self.text).submit(bus(category="B", run=run)).verdict is Verdict.ASK

    @pytest.mark.parametrize(
        ("run", "why"),
        [
            (["npm test", "git push"], "command 2 of `run`: program `git` is not allowed"),
            (["npm test && rm -rf x"], "command 1 of `run`: `&&` is shell syntax"),
            (["python '"], "command 1 of `run`: `'` is never closed"),
            ([], "the message has no `run`"),
        ],
    )
    def test_all_are_checked_before_the_first_one_starts(self, run, why):
        message = under(self.text).submit(bus([approved()], category="B", run=run))

        assert ops(message) == ["lock.acquire", "bus.write", "lock.release"]
        assert why in message.details[-1]

    def test_no_run_at_all(self):
        message = under(self.text).submit(bus([approved()], category="B"))

        assert "the message has no `run`, so nothing can run" in message.details[-1]

    def test_a_rule_that_does_not_opt_in_never_runs_it(self):
        message = under(SINGLE).submit(bus([approved()], category="B", run=["npm test"]))

        assert [step for _, step in message.steps if isinstance(step, CommandRun)] == [NPM]
