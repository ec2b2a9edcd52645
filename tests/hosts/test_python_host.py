"""The Python API: rules are loaded, events decided, sessions kept in memory."""

import os
import subprocess
import sys
from pathlib import Path
from pydoc import render_doc

import pytest

import bylaw
from bylaw.model.event import Message, ToolAfter, ToolBefore
from bylaw.model.vocabulary import CallStatus, Kind, Role
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.records import read_stored_record
from bylaw.store.journal.search import JournalReader

RULES = """\
deny tool shell if count_calls('shell') >= 1 because once is enough
on turn.start say hello
on message set seen = history_length
"""


@pytest.fixture
def rules(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.lines"
    path.write_text(RULES)
    return path


class TestLoad:
    def test_paths_are_texts_or_path_objects_one_or_many(self, rules):
        for paths in ([str(rules)], [rules], rules, str(rules), (rules, rules), [rules.parent]):
            library = bylaw.load(paths)

            assert [book.path for book in library.in_force()] == ["a.lines"]
            assert library.diagnostics == ()

    def test_a_broken_file_is_a_diagnostic_and_a_rule(self, rules):
        bad = rules.with_name("bad.lines")
        bad.write_text("deny everything\n")

        library = bylaw.load([rules, bad])
        decision = bylaw.Engine(library).decide({"kind": "tool.before", "tool": "ls"})

        assert [one.underlined for one in library.diagnostics] == ["deny everything"]
        assert decision.verdict is bylaw.Verdict.DENY

    def test_a_core_file_that_does_not_load_refuses_the_set(self, rules):
        """TR-A12."""
        bad = rules.with_name("bad.lines")
        bad.write_text("core\ndeny everything\n")
        library = bylaw.load([rules, bad])

        with pytest.raises(bylaw.LoadError) as refused:
            bylaw.Engine(library)

        assert [one.underlined for one in refused.value.diagnostics] == ["deny everything"]

    def test_a_file_of_unknown_language_refuses_the_set(self, rules):
        (rules.parent / "a.unknown").touch()

        with pytest.raises(bylaw.BylawError, match=r"`a\.unknown`"):
            bylaw.Engine(bylaw.load("a.unknown"))


class TestEngine:
    def test_events_are_objects_or_mappings(self, rules):
        for event in ({"kind": "tool.before", "tool": "shell"}, ToolBefore(tool="shell")):
            engine = bylaw.Engine(bylaw.load(rules))

            assert engine.decide(event).verdict is bylaw.Verdict.ALLOW

    def test_what_was_decided_counts(self, rules):
        engine = bylaw.Engine(bylaw.load(rules))
        verdicts = [
            engine.decide(event).verdict.value
            for event in (
                ToolBefore(tool="shell", call="1"),
                ToolAfter(tool="shell", call="1", status=CallStatus.OK),
                ToolBefore(tool="shell"),
            )
        ]

        assert verdicts == ["allow", "allow", "deny"]
        assert engine.session.count_calls("shell") == 1

    def test_what_an_event_causes_is_decided_too(self, rules):
        engine = bylaw.Engine(bylaw.load(rules))

        decision = engine.decide({"kind": "turn.start"})

        assert [step.text for plan in decision.plans for step in plan.steps] == ["hello"]
        assert engine.session.history.length == 1
        assert engine.state["variables"] == {"lines:a.lines": {"seen": 1}}

    def test_sessions_are_kept_by_their_ids(self, rules):
        engine = bylaw.Engine(bylaw.load(rules))
        engine.decide({"kind": "turn.start", "session": "a"})

        assert list(engine.sessions) == ["a"]
        assert engine.sessions["a"].history.length == 1
        assert engine.session.history.length == 0

    def test_an_engine_takes_books(self, rules):
        engine = bylaw.Engine(bylaw.load(rules).in_force())

        assert engine.decide({"kind": "turn.start"}).plans != ()

    def test_two_engines_with_the_same_books_decide_the_same(self, rules):
        library = bylaw.load(rules)
        events = [Message(role=Role.USER, text=str(n)) for n in range(3)]
        first, second = (
            [engine.decide(event) for event in events]
            for engine in (bylaw.Engine(library), bylaw.Engine(library))
        )

        assert first == second

    @pytest.mark.parametrize(
        ("event", "code"),
        [
            ({}, "event-kind"),
            ({"kind": "turn.strt"}, "event-kind"),
            ({"kind": "prompt", "text": 5}, "event-field"),
            ({"kind": "custom", "type": "t", "payload": {"n": float("nan")}}, "event-syntax"),
            ({"kind": "prompt", "text": {1, 2}}, "event-syntax"),
            ({"kind": "prompt", "text": "\ud800"}, "event-syntax"),
        ],
    )
    def test_what_is_no_event_is_an_error_and_leaves_no_trace(self, rules, event, code):
        engine = bylaw.Engine(bylaw.load(rules))

        with pytest.raises(bylaw.EventError) as refused:
            engine.decide(event)

        assert refused.value.code == code
        assert engine.sessions == {}

    def test_an_event_that_holds_itself(self, rules):
        event = {"kind": "custom", "type": "t"}
        event["payload"] = event

        with pytest.raises(bylaw.EventError, match="not JSON"):
            bylaw.Engine(bylaw.load(rules)).decide(event)


class TestJournals:
    def test_a_switch_has_the_digest_of_the_records(self, rules):
        """Of its own, and of all that are made under these rules."""
        path = str(rules.with_name("journal.db"))
        with bylaw.Engine(bylaw.load(rules), path) as engine:
            engine.submit({"kind": "turn.start"})
            engine.disable("line-1")
        with JournalReader(path) as journal:
            records = [read_stored_record(journal, seq) for seq in range(1, journal.newest + 1)]

        assert records[-1].record.event.kind is Kind.RULES
        assert {one.header.rules.hex() for one in records} == {records[-1].record.event.digest}

    def test_a_journal_that_was_given_open_stays_open(self, rules):
        with Journal() as journal:
            for _ in range(2):
                with bylaw.Engine(bylaw.load(rules), journal) as engine:
                    reply = engine.submit({"kind": "turn.start"})

        assert reply.answer.problem == ""
        assert reply.answer.event.seq > 1

    def test_a_journal_that_was_opened_for_a_program_is_closed(self, rules):
        path = rules.with_name("journal.db")
        with bylaw.Engine(bylaw.load(rules), path) as engine:
            engine.submit({"kind": "turn.start"})
            assert str(path) in open_paths()

        assert str(path) not in open_paths()


def open_paths():
    return {str(one.readlink()) for one in Path("/proc/self/fd").iterdir() if one.is_symlink()}


class TestScripts:
    def test_decide_and_submit_share_a_process(self, tmp_path):
        (tmp_path / "a-rule.toml").write_text(
            '[rule]\nid = "a-rule"\ntrigger = "on_turn_start"\n'
            '[condition]\nscript = "a.lua"\n[action]\ntype = "log"\n'
        )
        (tmp_path / "a.lua").write_text("return context.turn.number > 0")
        before = children()
        with bylaw.Engine(bylaw.load(tmp_path)) as engine:
            assert engine.decide({"kind": "turn.start"}).fired
            assert engine.submit({"kind": "turn.start"}).answer.decision.fired
            assert len(children() - before) == 1

        assert children() == before


def children():
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
    return set(listed.split())


class TestNames:
    def test_every_public_name_is_there(self):
        assert {name for name in bylaw.__all__ if not hasattr(bylaw, name)} == set()
        assert set(bylaw.__all__) <= set(dir(bylaw))

    @pytest.mark.parametrize("name", [name for name in bylaw.__all__ if name[:1].isupper()])
    def test_help_on_each_type_can_be_asked_for(self, name):
        assert "Methods" in render_doc(getattr(bylaw, name))

    def test_an_unknown_name_is_an_attribute_error(self):
        with pytest.raises(AttributeError, match="`nope`"):
            _ = bylaw.nope

    def test_importing_the_package_imports_nothing_else(self):
        code = "import sys, bylaw; print(*(n for n in sys.modules if n.startswith('bylaw')))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

        assert set(done.stdout.split()) == {b"bylaw", b"bylaw.version"}


class TestSettingsOfTheModel:
    RULE = """
[rule]
id = "budget"
trigger = "on_turn_start"
[condition]
expression = "context.turn.token_usage > 0.5 and context.turn.context_usage < 0.5"
[action]
type = "log"
"""

    @pytest.fixture
    def root(self, tmp_path, monkeypatch):
        (tmp_path / "rules").mkdir()
        (tmp_path / "rules" / "budget.toml").write_text(self.RULE)
        settings = "[model]\ntoken_budget = 1000\ncontext_window = 4000\n"
        (tmp_path / "bylaw.toml").write_text(settings)
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def test_rules_can_read_them(self, root):
        decision = bylaw.Engine(bylaw.load()).decide({"kind": "turn.start", "tokens": 600})

        assert decision.fired == ("toml:rules/budget.toml#budget",)

    def test_the_facts_of_an_event_come_first(self, root):
        event = {"kind": "turn.start", "tokens": 600, "facts": {"token_budget": 10_000}}

        assert bylaw.Engine(bylaw.load()).decide(event).fired == ()

    def test_files_that_were_given_have_no_settings(self, root):
        decision = bylaw.Engine(bylaw.load("rules")).decide({"kind": "turn.start", "tokens": 600})

        assert decision.trace[0].result == "guard_error"

    def test_a_journal_that_cannot_be_opened_denies_at_gates(self, root):
        (root / "here").write_text("no database, but a text that is long enough to be looked at")
        with bylaw.Engine(bylaw.load(), journal=root / "here") as engine:
            reply = engine.submit({"kind": "tool.before", "tool": "shell"})

        assert reply.denied
        assert "damaged" in reply.reasons[0].text
