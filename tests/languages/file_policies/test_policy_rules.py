"""Policies as rules: the flows of the document, driven with facts by hand."""

import pytest
from driving import Driven, assert_replays
from msgspec.structs import replace
from policy_texts import API, FORMAT, PAIRING, README, policy_text
from policy_world import World, book_of, driven, say, stop

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.model.decision import OPEN_ENTRIES, Need, NeedName, Needs
from bylaw.model.effects import CommandRun, EntryWrite, EventEmit, PromptShow
from bylaw.model.event import AgentStop
from bylaw.model.facts import Entry
from bylaw.model.session import Session
from bylaw.model.vocabulary import EntryStatus, Op, Role, Verdict

MAIN = "8420d67ae38f"  # readme-accuracy, src/main.py, abc123
PAIR = "3a6c044b2c11"  # source-test-pairing, src/foo/bar.py, abc123
BOTH = "a7874136fcbc"  # source-test-pairing, src/foo/bar.py and its test, abc123
USERS = "cd33860104da"  # api-documentation, api/users.py, abc123
PROMISE = "Done. <promise>readme-accuracy</promise>"


def readme(files=None, **more):
    world = World({"src/main.py": "one"} if files is None else files, **more)
    return world, driven(world, readme_accuracy=README)


class TestTheStandardFlow:
    """DW-077, DW-081, DW-082, DW-084, DW-144"""

    def test_instructions_then_a_promise(self):
        world, session = readme()
        first = stop(session)
        assert first.verdict is Verdict.DENY
        assert [type(step) for _, step in first.steps] == [PromptShow, EntryWrite, EventEmit]
        assert world.status(MAIN) == "queued"

        say(session, PROMISE)
        assert world.status(MAIN) == "passed"
        second = stop(session)
        assert second.verdict is Verdict.ALLOW
        assert second.steps == []
        assert_replays(session)

    def test_without_a_promise_they_come_again(self):
        world, session = readme()
        for times in (1, 2, 3):
            assert stop(session).verdict is Verdict.DENY
            assert world.entries[MAIN].shown == times
        assert world.status(MAIN) == "queued"
        assert_replays(session)

    def test_the_steps(self):
        _, session = readme()
        shown, written, told = (step for _, step in stop(session).steps)
        assert shown == PromptShow(
            policy="readme-accuracy",
            text=README.partition("README.md\n---\n")[2].strip(),
            files=("src/main.py",),
            title="README Accuracy",
            mode="trigger",
        )
        assert (written.hash, written.status, written.baseline) == (MAIN, "queued", "abc123")
        assert (written.trigger_files, written.shown) == (("src/main.py",), 1)
        assert told.type == "policy"
        assert told.payload == {
            "policy": "readme-accuracy",
            "hash": MAIN,
            "status": "queued",
            "files": ["src/main.py"],
            "missing": [],
        }

    def test_the_reason_is_one_line_for_people(self):
        _, session = readme({f"src/{n}.py": "x" for n in range(5)})
        [(_, reason)] = stop(session).reasons
        assert reason == (
            "README Accuracy (5 files): src/0.py, src/1.py, src/2.py and 2 more; "
            "when it is done, write <promise>readme-accuracy</promise>"
        )

    def test_a_file_name_cannot_break_the_line(self):
        _, session = readme({"src/a\nb.py": "x"})
        [(_, reason)] = stop(session).reasons
        assert "README Accuracy (1 file): src/a\\u{a}b.py;" in reason

    def test_other_content_under_the_same_hash_is_looked_at_again(self):
        """DW-A19"""
        world, session = readme()
        stop(session)
        say(session, PROMISE)
        world.files["src/main.py"] = "two"
        assert stop(session).verdict is Verdict.DENY
        assert (world.status(MAIN), world.entries[MAIN].shown) == ("queued", 1)

    def test_a_promise_is_about_the_files_as_they_are_when_it_is_made(self):
        world, session = readme()
        stop(session)
        world.files["src/main.py"] = "mended"
        say(session, PROMISE)
        assert stop(session).verdict is Verdict.ALLOW


def test_every_plan_tells_what_became_of_its_entries():
    """The outcome is an event of the journal, too."""
    [group] = book_of(readme_accuracy=README, python_formatting=FORMAT).groups
    assert {rule.plan.steps[-1].op for rule in group.rules} == {Op.EVENT_EMIT}


def test_a_promise_that_goes_on_to_count_is_told_with_what_it_closes():
    kept = Entry(policy="readme-accuracy", status=EntryStatus.PASSED, stood_before=True)
    old = Entry(policy="readme-accuracy", status=EntryStatus.QUEUED, shown=1)
    _, session = readme(entries={MAIN: kept, "1" * 12: old}, lists={"1" * 12: ((), (), ())})
    happened = stop(session)
    assert happened.verdict is Verdict.ALLOW
    told = [step.payload for _, step in happened.steps if isinstance(step, EventEmit)]
    assert [(one["hash"], one["status"]) for one in told] == [
        ("1" * 12, "skipped"),
        (MAIN, "passed"),
    ]


class TestSafety:
    """DW-058, DW-083, DW-143, DW-A15"""

    def test_it_skips_and_says_which_file(self):
        world, session = readme({"src/main.py": "one", "README.md": "new"})
        happened = stop(session)
        assert happened.verdict is Verdict.ALLOW
        assert world.status(MAIN) == "skipped"
        assert world.lists[MAIN] == (("src/main.py",), (), ("README.md",))
        assert stop(session).steps == []
        assert_replays(session)

    def test_what_was_repaired_is_closed(self):
        world, session = readme()
        stop(session)
        world.files["README.md"] = "new"
        assert stop(session).verdict is Verdict.ALLOW
        assert world.status(MAIN) == "skipped"

    def test_what_was_repaired_and_taken_back_is_violated_again(self):
        world, session = readme({"src/main.py": "one", "README.md": "new"})
        stop(session)
        del world.files["README.md"]
        assert stop(session).verdict is Verdict.DENY
        assert world.status(MAIN) == "queued"

    def test_nothing_triggered_is_no_entry(self):
        world, session = readme({"README.md": "new"})
        assert stop(session).steps == []
        assert world.entries == {}


class TestCorrespondence:
    """DW-085, DW-086, DW-087, DW-145, DW-146"""

    def test_a_set_that_is_incomplete(self):
        world = World({"src/foo/bar.py": "x", "src/ok.py": "x", "tests/ok_test.py": "x"})
        session = driven(world, source_test_pairing=PAIRING)
        happened = stop(session)
        shown = happened.steps[0][1]
        assert (shown.files, shown.missing) == (("src/foo/bar.py",), ("tests/foo/bar_test.py",))
        assert shown.arrows == (("src/foo/bar.py", "tests/foo/bar_test.py"),)
        assert world.status(PAIR) == "queued"
        assert happened.reasons[0][1] == (
            "Source/Test Pairing (1 file): src/foo/bar.py → tests/foo/bar_test.py; "
            "when it is done, write <promise>source-test-pairing</promise>"
        )

    def test_one_that_is_complete_is_skipped_at_once(self):
        world = World({"src/foo/bar.py": "x", "tests/foo/bar_test.py": "x"})
        session = driven(world, source_test_pairing=PAIRING)
        assert stop(session).verdict is Verdict.ALLOW
        assert world.status(BOTH) == "skipped"
        assert list(world.entries) == [BOTH]

    def test_one_that_becomes_complete(self):
        """DW-A17, DW-A18: the old entry no longer applies, the new one is skipped."""
        world = World({"src/foo/bar.py": "x"})
        session = driven(world, source_test_pairing=PAIRING)
        stop(session)
        world.files["tests/foo/bar_test.py"] = "x"
        assert stop(session).verdict is Verdict.ALLOW
        assert (world.status(PAIR), world.status(BOTH)) == ("skipped", "skipped")
        assert world.entries[PAIR].result == "no longer applies"
        assert world.lists[PAIR][0] == ("src/foo/bar.py",)

    def test_one_that_breaks_again(self):
        world = World({"src/foo/bar.py": "x", "tests/foo/bar_test.py": "x"})
        session = driven(world, source_test_pairing=PAIRING)
        stop(session)
        del world.files["tests/foo/bar_test.py"]
        assert stop(session).verdict is Verdict.DENY
        assert world.status(PAIR) == "queued"

    def test_a_pair(self):
        world = World({"api/users.py": "x"})
        session = driven(world, api_documentation=API)
        assert stop(session).verdict is Verdict.DENY
        assert world.status(USERS) == "queued"
        world.files["docs/api/users.md"] = "x"
        assert stop(session).verdict is Verdict.ALLOW
        assert world.status(USERS) == "skipped"
        del world.files["docs/api/users.md"]
        assert stop(session).verdict is Verdict.DENY
        assert_replays(session)

    def test_a_pair_with_a_glob_that_loses_its_match(self):
        text = policy_text("pair: {trigger: 'api/{name}.py', expects: 'docs/{name}/*.md'}")
        world = World({"api/users.py": "x", "docs/users/a.md": "x"})
        session = driven(world, docs=text)
        assert stop(session).verdict is Verdict.ALLOW
        del world.files["docs/users/a.md"]
        assert stop(session).verdict is Verdict.DENY


class TestWhatIsGone:
    """DW-076, DW-A18"""

    def test_a_change_that_was_taken_back(self):
        world, session = readme()
        stop(session)
        world.files.clear()
        happened = stop(session)
        assert happened.verdict is Verdict.ALLOW
        assert world.entries[MAIN].result == "no longer applies"
        assert world.status(MAIN) == "skipped"
        assert world.emitted[-1] == {
            "policy": "readme-accuracy",
            "hash": MAIN,
            "status": "skipped",
            "files": [],
            "missing": [],
        }
        assert stop(session).steps == []
        assert_replays(session)

    def test_another_file_more(self):
        world, session = readme()
        stop(session)
        world.files["src/b.py"] = "x"
        happened = stop(session)
        assert happened.verdict is Verdict.DENY
        assert happened.trace == [("readme-accuracy", "fired")]
        assert world.status(MAIN) == "skipped"
        assert sorted(one.status for one in world.entries.values()) == ["queued", "skipped"]

    def test_a_baseline_that_moved(self):
        world, session = readme()
        stop(session)
        world.ref = "def456"
        stop(session)
        assert (world.status(MAIN), world.status("480ae43358da")) == ("skipped", "queued")

    def test_entries_of_other_policies_stay(self):
        other = Entry(policy="other", status=EntryStatus.QUEUED, digest="x", shown=1)
        world, session = readme(entries={"0" * 12: other})
        stop(session)
        assert world.entries["0" * 12] == other


class TestPromises:
    """DW-084, DW-A20, DW-A48"""

    @pytest.mark.parametrize(
        "text",
        [
            "<promise>readme-accuracy</promise>",
            "<promise>README Accuracy</promise>",
            "<PROMISE>✓ readme accuracy</PROMISE>",
            "<promise>other</promise> and <promise>\n  Readme-Accuracy\n</promise>",
        ],
    )
    def test_identifier_or_title(self, text):
        world, session = readme()
        stop(session)
        say(session, text)
        assert world.status(MAIN) == "passed"

    @pytest.mark.parametrize("text", ["<promise>other</promise>", "readme-accuracy", "<promise>"])
    def test_anything_else_is_none(self, text):
        _, session = readme()
        stop(session)
        assert say(session, text).steps == []
        assert stop(session).verdict is Verdict.DENY

    @pytest.mark.parametrize("role", [Role.USER, Role.TOOL, Role.SYSTEM, Role.DEVELOPER])
    def test_nobody_else_can_promise(self, role):
        world, session = readme()
        stop(session)
        say(session, PROMISE, role)
        assert world.status(MAIN) == "queued"

    def test_one_before_the_instructions_were_shown_is_none(self):
        _, session = readme()
        assert say(session, PROMISE).steps == []
        assert stop(session).verdict is Verdict.DENY

    def test_it_covers_no_later_hash(self):
        world, session = readme()
        stop(session)
        say(session, PROMISE)
        world.files["src/b.py"] = "x"
        assert stop(session).verdict is Verdict.DENY

    def test_an_entry_that_is_not_about_the_changes_of_now_keeps_its_digest(self):
        world, session = readme()
        stop(session)
        before = world.entries[MAIN].digest
        world.files["src/b.py"] = "x"
        say(session, PROMISE)
        assert (world.status(MAIN), world.entries[MAIN].digest) == ("passed", before)

    def test_several_in_one_message(self):
        world = World({"src/main.py": "x", "api/users.py": "x"})
        session = driven(world, readme_accuracy=README, api_documentation=API)
        stop(session)
        say(session, "<promise>readme-accuracy</promise><promise>api-documentation</promise>")
        assert (world.status(MAIN), world.status(USERS)) == ("passed", "passed")
        assert stop(session).verdict is Verdict.ALLOW

    def test_it_counts_even_if_the_changes_cannot_be_had(self):
        world, session = readme()
        stop(session)
        gather = session.gather
        session.gather = lambda need, facts: (
            None if need.name is NeedName.CHANGES else gather(need, facts)
        )
        say(session, PROMISE)
        assert world.status(MAIN) == "passed"

    def test_nothing_is_asked_for_without_one(self):
        world, session = readme()
        say(session, "I looked at the README.")
        assert world.asked == []


def formatter(files=None, **more):
    world = World({"src/a.py": " x "} if files is None else files, **more)
    return world, driven(world, python_formatting=FORMAT)


class TestCommands:
    """DW-078, DW-088, DW-089, DW-090, DW-091, DW-A25, DW-A46"""

    def test_it_runs_and_passes(self):
        world, session = formatter({"src/b.py": " x ", "src/a.py": " x "})
        happened = stop(session)
        assert [step.op.value for _, step in happened.steps] == [
            "entry.write",
            "command.run",
            "command.run",
            "entry.write",
            "event.emit",
        ]
        assert world.ran == [("ruff", "format", "src/a.py"), ("ruff", "format", "src/b.py")]
        [again] = [one for one in happened.caused if isinstance(one.event, AgentStop)]
        assert again.verdict is Verdict.ALLOW
        assert [one.status for one in world.entries.values()] == ["passed"]
        assert stop(session).steps == []
        assert_replays(session)

    def test_the_steps(self):
        _, session = formatter()
        queued, run, passed, told = (step for _, step in stop(session).steps)
        assert (queued.status, passed.status) == ("queued", "passed")
        assert queued.command == passed.command == "ruff format {file}"
        assert run == CommandRun(
            argv=("ruff", "format", "src/a.py"),
            cwd=".",
            timeout_s=0,
            check_idempotent=True,
            files=("src/a.py",),
        )
        assert told.payload["status"] == "passed"

    def test_every_edit_is_formatted(self):
        world, session = formatter()
        for text in (" one ", " two ", " three "):
            world.files["src/a.py"] = text
            stop(session)
            assert world.files["src/a.py"] == text.strip()

    def test_one_that_is_not_idempotent_fails_and_blocks(self):
        world, session = formatter(formatted=lambda text: text + "x")
        happened = stop(session)
        [again] = [one for one in happened.caused if isinstance(one.event, AgentStop)]
        assert again.verdict is Verdict.DENY
        [(_, reason)] = again.reasons
        assert reason == (
            "Python Formatting: `src/a.py` changed again when the command ran a second time\n"
            "fix it, or write <promise>python-formatting</promise> to skip it; "
            "to run it again unchanged: `bylaw policies clear python-formatting`"
        )
        assert world.emitted[-1]["status"] == "failed"
        assert len(world.ran) == 1
        assert stop(session).verdict is Verdict.DENY
        assert len(world.ran) == 1
        assert_replays(session)

    def test_a_promise_skips_it(self):
        world, session = formatter(formatted=lambda text: text + "x")
        stop(session)
        say(session, "<promise>✓ Python Formatting</promise>")
        [entry] = world.entries.values()
        assert (entry.status, entry.result) == ("skipped", "acknowledged by promise")
        assert stop(session).verdict is Verdict.ALLOW
        assert len(world.ran) == 1
        world.files["src/a.py"] = "other"
        stop(session)
        assert len(world.ran) == 2

    def test_it_runs_again_when_the_file_changes(self):
        world, session = formatter(formatted=lambda text: text + "x")
        stop(session)
        world.formatted = str.strip
        world.files["src/a.py"] = " mended "
        stop(session)
        assert [one.status for one in world.entries.values()] == ["passed"]

    def test_one_that_was_interrupted_runs_again(self):
        """Its entry was queued when the process died."""
        world, session = formatter()
        stop(session)
        [hash_] = world.entries
        world.entries[hash_] = replace(world.entries[hash_], status=EntryStatus.QUEUED)
        stop(session)
        assert len(world.ran) == 2
        assert world.status(hash_) == "passed"

    def test_deleted_files_have_no_run(self):
        world, session = formatter({"src/a.py": " x ", "src/gone.py": None})
        stop(session)
        assert world.ran == [("ruff", "format", "src/a.py")]
        [lists] = world.lists.values()
        assert lists[0] == ("src/a.py", "src/gone.py")

    def test_with_deleted_files_alone_there_is_nothing_to_run(self):
        world, session = formatter({"src/gone.py": None})
        assert stop(session).verdict is Verdict.ALLOW
        [entry] = world.entries.values()
        assert (entry.status, entry.result) == ("skipped", "nothing to run: every file was deleted")
        assert stop(session).steps == []

    def test_all_matches_is_one_run(self):
        text = policy_text(
            "trigger: '*.py'\naction: {command: 'fmt {files}', run_for: all_matches}"
        )
        world = World({"b.py": "x", "a.py": "x", "gone.py": None})
        session = driven(world, fmt=text)
        stop(session)
        assert world.ran == [("fmt", "a.py", "b.py")]

    def test_a_set_with_a_command(self):
        text = policy_text(
            "set: ['src/{path}.py', 'tests/{path}_test.py']\naction: {command: 'new-test {file}'}"
        )
        world = World({"src/a.py": "x", "src/b.py": "x", "tests/b_test.py": "x"})
        stop(driven(world, tests=text))
        assert world.ran == [("new-test", "src/a.py")]


class TestOrder:
    """DW-A47, DW-110"""

    def test_commands_first_and_prompts_by_what_they_left(self):
        world = World({"src/main.py": " x "})
        session = driven(world, a_readme=README, python_formatting=FORMAT)
        happened = stop(session)
        assert [rule for rule, _ in happened.steps] == ["python-formatting"] * 4
        [again] = [one for one in happened.caused if isinstance(one.event, AgentStop)]
        assert again.verdict is Verdict.DENY
        assert [rule for rule, _ in again.steps] == ["a-readme"] * 3
        say(session, "<promise>a-readme</promise>")
        assert stop(session).verdict is Verdict.ALLOW
        assert_replays(session)

    def test_by_identifier(self):
        world = World({"src/main.py": "x", "api/users.py": "x"})
        session = driven(world, z=README.replace("README Accuracy", "Z"), b=API)
        assert [rule for rule, _ in stop(session).reasons] == ["b", "z"]


class TestNeeds:
    """DW-041, DW-131"""

    rules = RuleSet([book_of(readme_accuracy=README, api_documentation=API)])

    def asked(self, *paths):
        world = World(dict.fromkeys(paths, "x"))
        event = AgentStop()
        rounds = []
        while isinstance(answer := decide(self.rules, Session(), event), Needs):
            rounds.append({f"{need.name}:{need.key}" for need in answer.needs})
            for need in answer.needs:
                event = replace(event, facts=world.gather(need, event.facts))
        return rounds

    def test_one_question_for_all_policies_then_the_entry_of_what_triggered_one(self):
        of_all = {"changes:base", "entries:open"}
        assert self.asked("src/main.py") == [of_all, {f"entries:{MAIN}"}]
        assert self.asked("other.txt") == [of_all]

    def test_only_the_baseline_of_a_policy(self):
        text = policy_text("trigger: src/**\ncompare_to: prompt")
        rules = RuleSet([book_of(p=text)])
        needs = Need(NeedName.CHANGES, "prompt"), Need(NeedName.ENTRIES, OPEN_ENTRIES)
        assert decide(rules, Session(), AgentStop()) == Needs(needs)

    def test_what_cannot_be_had_is_recorded(self):
        session = Driven(book_of(readme_accuracy=README))
        happened = stop(session)
        assert happened.trace == [("readme-accuracy", "guard_error")]
        assert happened.event.facts.unknown == ("changes:base", "entries:open")
        assert_replays(session)


def test_the_rules_of_one_policy_exclude_each_other():
    """Whatever the entry says, at most one of them fires."""
    for status in EntryStatus:
        for files in ({}, {"src/main.py": "x"}, {"src/main.py": "x", "README.md": "y"}):
            for digest in ("old", ""):
                entry = Entry(policy="readme-accuracy", status=status, digest=digest, shown=1)
                stale = replace(entry, status=EntryStatus.QUEUED)
                world, session = readme(dict(files), entries={MAIN: entry, "f" * 12: stale})
                world.lists = {MAIN: (("src/main.py",), (), ()), "f" * 12: (("src/x.py",), (), ())}
                happened = stop(session)
                assert len(happened.decision.fired) <= 1
                assert world.status("f" * 12) == "skipped"
                assert_replays(session)
