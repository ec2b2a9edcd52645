"""What the language itself demands: messages that no rule sees, requests, changes, loading."""

import pytest
from driving import assert_replays
from law_rules import FILE_RULE, RULE, changed
from law_sessions import (
    ALL,
    ID,
    SINGLE,
    approved,
    bus,
    facts,
    lint,
    loaded,
    ops,
    rules,
    tells,
    told,
    under,
)
from msgspec.structs import replace

from bylaw.engine.index import RuleSet
from bylaw.languages import law
from bylaw.languages.base import Launch, LaunchKind, RuleFile, add_stand_ins, stand_in
from bylaw.model.event import Bus, File
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import ApprovalState, Change, PolicyMode, Verdict

REQUEST = {"command_type": "approval_request", "msg_id": ID + "-r", "origin_ref": ID}
BRINGS = changed('"npm run lint"', '"{{run}}"', SINGLE)


class TestMessagesThatNoRuleSees:
    @pytest.mark.parametrize(
        ("event", "rule", "text"),
        [
            (bus(msg_type="Decision"), "decision", "decisions are forbidden in the bus"),
            (bus(msg_type="DECISION", category="?"), "decision", "forbidden"),
            (bus(category="a"), "message", "`category` must be"),
            (bus(prioritty=1), "message", "unknown key `prioritty`"),
            (bus(approved=True), "message", "unknown key `approved`"),
            (bus(phase=3), "message", "`phase` is 3, but the active phase is 2"),
            (bus(told={"outside": ("src/a.ts",)}), "message", "is outside the root"),
            (
                bus(told={"duplicate": "the first one is done"}),
                "duplicate",
                f"duplicate msg_id `{ID}`: the first one is done",
            ),
        ],
    )
    def test_are_refused_with_evidence(self, event, rule, text):
        """LD-023 to LD-038, LD-070"""
        session = under(RULE, tells("ANY", 1, types="[task, exec, approval_request]"))
        message = session.submit(event)

        assert message.verdict is Verdict.DENY
        assert [name for name, _ in message.reasons] == [rule]
        assert text in message.reasons[0][1]
        assert told(message) == [("error", message.reasons[0][1])]
        assert message.trace[-1] == (rule, "fired")
        assert_replays(session)

    @pytest.mark.parametrize("message", [None, 5, "text", [], {}, {"msg_type": 5}])
    def test_whatever_it_is(self, message):
        happened = under(RULE).submit(Bus(message=message, facts=facts()))

        assert happened.verdict is Verdict.DENY
        assert ops(happened) == ["bus.write"]

    def test_unsupported_format(self):
        """LD-022"""
        event = Bus(message="hello", facts=facts(unreadable="unsupported format: `msg.txt`"))

        ((_, text),) = told(under(RULE).submit(event))
        assert "unsupported format" in text

    def test_evidence_is_archived(self):
        """LD-A17"""
        event = Bus(message={"msg_id": ID, "msg_type": "evidence"}, facts=facts())
        message = under(RULE).submit(event)

        assert message.verdict is Verdict.ALLOW
        assert told(message) == [("output", "archived")]
        assert message.trace[-1] == ("evidence", "fired")

    def test_relaxed_mode_warns_and_goes_on(self):
        """LD-A02"""
        relaxed = {"policy_mode": PolicyMode.RELAXED}
        message = under(RULE).submit(bus(prioritty=1, told=relaxed, without=("notes",)))

        assert message.verdict is Verdict.WARN
        assert message.reasons == [
            (
                "relaxed",
                "allowed in relaxed mode: `notes` is missing; unknown key `prioritty`",
            )
        ]
        assert ops(message) == ALL

        unmatched = under(RULE).submit(bus(prioritty=1, told=relaxed, command_type="task"))
        assert unmatched.verdict is Verdict.DENY
        assert told(unmatched) == [("error", "no matching rule")]


class TestApprovalRequests:
    """LD-A16, LD-A39"""

    def test_one_that_no_rule_matches_waits(self):
        for text in (RULE, SINGLE):
            message = under(text).submit(bus(**REQUEST))
            assert (message.verdict, message.steps) == (Verdict.ALLOW, [])

    def test_a_rule_tells_of_it_once(self):
        session = under(tells("T", 1, types="[approval_request]"))

        assert told(session.submit(bus(**REQUEST))) == [("output", "T")]
        again = session.submit(bus(retry=1, **REQUEST))
        assert (again.verdict, again.steps) == (Verdict.ALLOW, [])

    @pytest.mark.parametrize("mark", ["run_cmd", "request_approval", "write_processing_lock"])
    def test_a_rule_that_does_more_than_tell_is_for_commands(self, mark):
        actions = {
            "run_cmd": "{type: run_cmd, cmd: npm test, cwd: src, timeout_sec: 1}",
            "request_approval": "{type: request_approval, channel: input, to: human,"
            " payload_template: x}",
            "write_processing_lock": "{type: write_processing_lock, lock_key: x}",
        }
        text = (
            "rule_id: T\npriority: 1\ntrigger: {kind: bus_input}\n"
            f"guards: {{category_in: [A]}}\nactions: [{actions[mark]}]\n"
        )

        assert under(text).submit(bus(**REQUEST)).steps == []
        assert ops(under(text).submit(bus(command_type="task"))) != []

    def test_its_answer_archives_it(self):
        session = under(RULE)
        waiting = bus(retry=1, approval_by=["human"], **REQUEST)
        assert session.submit(waiting).steps == []
        for event, text in [
            (bus([approved()], retry=1, approval_by=["human"], **REQUEST), "approved"),
            (bus([approved(state=ApprovalState.REVOKED)], retry=1, **REQUEST), "rejected"),
        ]:
            assert told(session.submit(event)) == [("output", f"answered: `human` {text} `{ID}`")]
        other = bus([approved("antigravity")], retry=1, approval_by=["human"], **REQUEST)
        assert session.submit(other).steps == []
        gone = bus(retry=1, told={"withdrawn": True}, **REQUEST)
        assert told(session.submit(gone)) == [("output", f"withdrawn: `{ID}` is gone")]


class TestFileEvents:
    def event(self, path="src/a.ts", change=Change.MODIFIED, **fields):
        return File(change=change, path=path, facts=facts(), **fields)

    def test_a_rule_on_files(self):
        """LD-042 to LD-044"""
        session = under(FILE_RULE)

        assert told(session.submit(self.event())) == [("output", "saw src/a.ts modified")]
        assert session.submit(self.event(change=Change.CREATED)).steps == []
        assert session.submit(self.event(path="src2/a.ts")).steps == []
        assert session.submit(self.event(path=".\\src\\a.ts")).steps != []

    def test_a_rename_is_about_either_name(self):
        """LD-A05"""
        text = changed("[modified]", "[renamed]", FILE_RULE)
        moved = self.event("lib/a.ts", Change.RENAMED, old_path="src/a.ts")

        assert told(under(text).submit(moved)) == [("output", "saw lib/a.ts renamed")]

    @pytest.mark.parametrize("path", ["../x", "/etc/passwd", "src/link"])
    def test_a_path_that_leads_out(self, path):
        """LD-012"""
        text = changed('paths: ["src/**"], ', "", FILE_RULE)
        event = File(change=Change.MODIFIED, path=path, facts=facts(outside=("src/link",)))
        message = under(text).submit(event)

        assert message.verdict is Verdict.WARN
        assert message.trace == [("path", "fired")]
        assert told(message) == [("error", f"`{path}` is outside the root: no rule applies to it")]

    def test_an_unknown_phase(self):
        """LD-017"""
        event = File(change=Change.MODIFIED, path="src/a.ts", facts=facts(phase=None))

        assert under(FILE_RULE).submit(event).steps == []

    def test_rules_on_files_see_no_messages_and_the_other_way_round(self):
        session = under(rules(RULE, FILE_RULE))

        assert ops(session.submit(self.event())) == ["bus.write"]
        assert ops(session.submit(bus())) == ALL


class TestLoading:
    def test_the_language_reports_its_identity(self):
        """LD-110"""
        assert law.spec == "LAW: RULE_DSL (L-10-DSL), version 0.1, Active Draft"

    def test_it_knows_its_texts(self):
        for text in (RULE, FILE_RULE, rules(RULE), "rules: [\ndsl_version: '0.1'"):
            assert law.detect(SourceFile("a.yaml", text))
        for text in ("", "version: 2\njobs: {}", "rules:\n  - kind: push"):
            assert not law.detect(SourceFile("a.yaml", text))

    def test_one_bad_file_spoils_no_other_but_closes_the_bus(self):
        bad = RuleFile(SourceFile("b.yaml", "rule_id: X\n"), "")
        files = [RuleFile(SourceFile("a.yaml", RULE), ""), bad]
        found = law.load(files)
        assert {rule.id for rule in found.groups[0].rules if not rule.core} == {"R-LINT"}

        closed = add_stand_ins(found.groups, law.GROUP, [stand_in(law, bad, found.diagnostics)])
        session = under(RULE)
        session.rules = RuleSet([replace(loaded(RULE), groups=closed)])
        message = session.submit(bus())
        assert message.verdict is Verdict.DENY
        ((channel, text),) = told(message)
        assert channel == "error"
        assert "`b.yaml` does not load" in text

    def test_two_rules_of_one_id(self):
        """LD-039"""
        found = law.load([RuleFile(SourceFile(name, RULE), "") for name in ("a.yaml", "b.yaml")])

        assert {one.code for one in found.diagnostics} == {"law-duplicate-rule-id"}
        assert all(rule.core for rule in found.groups[0].rules)

    def test_what_can_be_started(self):
        book = loaded(rules(lint(categories="[A, B, D]"), changed("R-LINT", "R-RUN", BRINGS)))

        assert law.starts(book, ()) == [
            Launch(LaunchKind.PROGRAM, "npm run lint", "law:a.yaml#R-LINT"),
            Launch(
                LaunchKind.PROGRAM,
                "any command in `run` of an approved message "
                "(npm, pnpm, yarn, python, pytest, node)",
                "law:a.yaml#R-RUN",
            ),
        ]

    def test_rules_are_taken_apart_only_as_far_as_needed(self):
        def count(text):
            return sum(not rule.core for rule in loaded(text).groups[0].rules)

        assert count(RULE) == 1
        assert count(lint(categories="[A, B, C]", mode="single", authorities="[human]")) == 1
        assert count(lint(categories="[A, B]")) == 2
        assert count(lint(categories="[A, B, D]")) == 3
        assert count(tells("T", 1)) == 2
        assert count(tells("T", 1, "guards: {category_in: [A, B, C]}")) == 1
        assert count(tells("T", 1, types="[exec, approval_request]")) == 3
        assert count(FILE_RULE) == 1
