"""Rules are switched off and on while an engine runs (TR-A40)."""

import json

import pytest

import bylaw
from bylaw.model.event import ToolBefore, TurnStart
from bylaw.model.facts import ToolFacts

RULES = """\
deny tool shell because no
core deny tool curl because never
off deny tool ls because not yet
on turn.start say hello
on message if last_role == 'developer' say heard
"""
SHELL, CURL = "lines:a.lines#line-1", "lines:a.lines#line-2"
HELLO, HEARD = "lines:a.lines#line-4", "lines:a.lines#line-5"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.lines").write_text(RULES)
    return tmp_path


@pytest.fixture
def engine(root):
    return bylaw.Engine(bylaw.load("a.lines"))


def verdict(engine, tool, **more):
    return engine.decide({"kind": "tool.before", "tool": tool, **more}).verdict.value


class Submitted:
    """Every event that an engine decides, from outside."""

    def __init__(self, engine, monkeypatch):
        self.events = []
        submit = engine._dry_run.submit

        def watched(event):
            rehearsed = submit(event)
            self.events.append(rehearsed.event)
            return rehearsed

        monkeypatch.setattr(engine._dry_run, "submit", watched)


class TestSwitches:
    def test_a_rule_is_switched_off_and_on_again(self, engine):
        """TR-027"""
        assert verdict(engine, "shell") == "deny"
        engine.disable("line-1")
        assert (verdict(engine, "shell"), engine.disabled) == ("allow", (SHELL,))
        engine.enable("line-1")
        assert (verdict(engine, "shell"), engine.disabled) == ("deny", ())

    def test_the_trace_says_that_it_is_off(self, engine):
        engine.disable(SHELL)
        (line,) = engine.decide(ToolBefore(tool="shell")).trace

        assert (line.uid, line.result.value) == (SHELL, "not_live")

    def test_a_core_rule_stays_on(self, engine):
        """TR-027"""
        with pytest.raises(bylaw.RuleError) as refused:
            engine.disable("line-2")

        assert str(refused.value) == (
            "`line-2` is a core rule and cannot be disabled; see a.lines:2"
        )
        assert (verdict(engine, "curl"), engine.disabled) == ("deny", ())

    def test_a_core_rule_that_an_event_names_stays_on(self, engine):
        assert verdict(engine, "curl", facts={"disabled": [CURL]}) == "deny"

    def test_a_rule_that_is_off_in_its_file_cannot_be_switched_on(self, engine):
        """TR-024"""
        with pytest.raises(bylaw.RuleError) as refused:
            engine.enable("line-3")

        assert "set `enabled = true` in a.lines:3" in str(refused.value)
        assert verdict(engine, "ls") == "allow"

    def test_twice_is_as_good_as_once(self, engine):
        for _ in range(2):
            engine.enable("line-1")
        for _ in range(2):
            engine.disable("line-1")
        engine.disable("line-3")

        assert verdict(engine, "shell") == "allow"

    @pytest.mark.parametrize(
        "rule", ["line-9", "lines:a.lines#line-9", "", "does-not-load:b.lines"]
    )
    def test_a_rule_that_is_not_there(self, engine, rule, root):
        with pytest.raises(bylaw.RuleError, match=f"unknown rule `{rule}`"):
            engine.disable(rule)

    def test_what_may_have_been_meant(self, engine):
        with pytest.raises(bylaw.RuleError, match="did you mean `line-1`"):
            engine.disable("lime-1")
        with pytest.raises(bylaw.RuleError, match=r"did you mean `lines:a\.lines#line-1`"):
            engine.disable("lines:a.line#line-1")

    def test_an_id_of_two_rules_is_refused_with_their_uids(self, root):
        (root / "b.lines").write_text("deny tool shell because b\n")
        engine = bylaw.Engine(bylaw.load("."))

        with pytest.raises(bylaw.RuleError) as refused:
            engine.disable("line-1")

        assert str(refused.value) == (
            f"2 rules have the id `line-1`: `{SHELL}`, `lines:b.lines#line-1`"
        )
        engine.disable("lines:b.lines#line-1")
        assert [one.uid for one in engine.decide(ToolBefore(tool="shell")).reasons] == [SHELL]

    def test_what_stands_in_for_a_broken_file_cannot_be_switched_off(self, root):
        (root / "b.lines").write_text("denny\n")
        engine = bylaw.Engine(bylaw.load("."))

        for name in ("does-not-load:b.lines", "lines:builtin#does-not-load:b.lines"):
            with pytest.raises(bylaw.RuleError, match="unknown rule"):
                engine.disable(name)


class TestTheRecord:
    def test_every_event_says_what_is_off(self, engine, monkeypatch):
        engine.disable("line-1")
        record = Submitted(engine, monkeypatch)
        engine.decide(ToolBefore(tool="shell", facts=ToolFacts(disabled=(HELLO, SHELL))))
        engine.decide(TurnStart())

        assert [event.facts.disabled for event in record.events] == [(HELLO, SHELL), (SHELL,)]

    def test_what_an_event_causes_is_told_too(self, engine):
        engine.disable(HEARD)
        engine.decide(TurnStart())

        assert engine.session.history.length == 1  # nobody heard the hello

    def test_a_switch_is_an_event_of_every_session(self, engine, monkeypatch):
        for session in ("a", "b"):
            engine.decide(TurnStart(session=session))
        record = Submitted(engine, monkeypatch)
        engine.disable("line-1")
        engine.enable("line-1")

        told = [(e.session, e.kind.value, e.enabled, e.disabled) for e in record.events]
        assert told == [
            ("a", "rules", (), (SHELL,)),
            ("b", "rules", (), (SHELL,)),
            ("a", "rules", (SHELL,), ()),
            ("b", "rules", (SHELL,), ()),
        ]
        assert len({event.digest for event in record.events}) == 1
        assert [event.facts.disabled for event in record.events[:2]] == [(SHELL,)] * 2

    def test_before_the_first_event_it_is_one_of_the_default_session(self, engine):
        engine.disable("line-1")

        assert list(engine.sessions) == ["default"]
        assert engine.session.seq == 1

    def test_what_changes_nothing_is_no_event(self, engine):
        engine.enable("line-1")
        engine.enable("line-2")

        assert engine.sessions == {}


class TestSwitchesOfARoot:
    @pytest.fixture
    def governed(self, root):
        (root / "bylaw.toml").write_text('[[book]]\npath = "a.lines"\n')
        return root

    def put(self, root, *uids):
        state = root / ".bylaw" / "state"
        state.mkdir(parents=True, exist_ok=True)
        switches = {uid: {"at": "2026-01-31T12:00:00+00:00"} for uid in uids}
        text = json.dumps({"version": 1, "disabled": switches})
        (state / "switches.json").write_text(text)

    def test_they_count_from_the_start(self, governed):
        self.put(governed, SHELL, CURL, "lines:gone.lines#line-1", "lines:builtin#x")
        engine = bylaw.Engine(bylaw.load())

        assert engine.disabled == (SHELL,)
        assert (verdict(engine, "shell"), verdict(engine, "curl")) == ("allow", "deny")
        assert engine.diagnostics == ()

    def test_they_do_not_count_for_files_that_were_named(self, governed):
        self.put(governed, SHELL)

        assert verdict(bylaw.Engine(bylaw.load("a.lines")), "shell") == "deny"

    def test_a_program_has_the_last_word_and_writes_nothing(self, governed):
        self.put(governed, SHELL)
        before = (governed / ".bylaw/state/switches.json").read_bytes()
        engine = bylaw.Engine(bylaw.load())
        engine.enable("line-1")
        engine.disable("line-4")

        assert engine.disabled == (HELLO,)
        assert (governed / ".bylaw/state/switches.json").read_bytes() == before
        assert [path.name for path in (governed / ".bylaw/state").iterdir()] == ["switches.json"]

    def test_a_file_that_cannot_be_read_switches_nothing_off_and_is_reported(self, governed):
        self.put(governed, SHELL)
        (governed / ".bylaw/state/switches.json").write_text("{")
        engine = bylaw.Engine(bylaw.load())

        assert verdict(engine, "shell") == "deny"
        assert [one.code for one in engine.diagnostics] == ["broken-switches"]

    def test_reload_reads_them_again(self, governed):
        engine = bylaw.Engine(bylaw.load())
        engine.disable("line-4")
        self.put(governed, SHELL)
        engine.reload()

        assert engine.disabled == (SHELL, HELLO)
        (governed / ".bylaw/state/switches.json").write_text("[]")
        assert [one.code for one in engine.reload().diagnostics] == ["broken-switches"]
        assert engine.disabled == (HELLO,)

    def test_a_rule_that_is_gone_takes_its_switch_with_it(self, governed, monkeypatch):
        engine = bylaw.Engine(bylaw.load())
        engine.disable("line-4")
        record = Submitted(engine, monkeypatch)
        (governed / "a.lines").write_text("deny tool shell because no\n")
        engine.reload()
        (governed / "a.lines").write_text(RULES)
        engine.reload()

        assert engine.disabled == ()
        assert [(event.enabled, event.disabled) for event in record.events] == [((), ())] * 2
