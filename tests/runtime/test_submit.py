"""Submitting: nothing is lost between a decision and what follows from it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import bylaw
from bylaw.engine.index import RuleSet
from bylaw.engine.plan import DONE
from bylaw.model.codes.runtime import JOURNAL_FULL
from bylaw.model.decision import Need, NeedName
from bylaw.model.event import Custom, TurnStart
from bylaw.model.vocabulary import Kind, Op
from bylaw.report.verify import verify
from bylaw.runtime.needs import gather_facts
from bylaw.runtime.submit import Runtime
from bylaw.store.journal.database import Anchor
from bylaw.store.journal.errors import JournalError
from bylaw.store.journal.journal import NO_OWNER, Journal
from bylaw.store.journal.records import rules_with_texts
from bylaw.store.system import own_process_name

EMITS = """
[rule]
id = "emits"
trigger = "on_turn_start"
[condition]
expression = "True"
[action]
type = "emit_event"
event_type = "custom.hello"
payload = { n = 1 }
"""
LOGS = """
[rule]
id = "logs"
trigger = "on_turn_start"
[condition]
expression = "True"
[action]
type = "log"
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "emits.toml").write_text(EMITS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def runtime(journal, **more):
    library = bylaw.load("rules")
    return Runtime(RuleSet(library.in_force()), rules_with_texts(library.books), journal, **more)


def kinds(journal):
    return [kind for (kind,) in journal.query("SELECT kind FROM records ORDER BY seq")]


class TestACausedEvent:
    def test_is_recorded_before_its_decision_is_closed(self, root):
        with Journal("journal.db") as journal:
            runtime(journal).submit(TurnStart())

            assert kinds(journal) == [Kind.TURN_START, Kind.EFFECT, Kind.CUSTOM]
            assert journal.open_plans("default") == []

    def test_is_told_by_the_next_process_if_the_first_died_before(self, root):
        """Killed between the outcome of the step and the event that it caused."""
        program = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_submit import runtime
from bylaw.model.event import TurnStart
from bylaw.runtime import submit
from bylaw.store.journal.journal import Journal
def die(self, answer, event, step):
    self._queue.append(lambda: os.kill(os.getpid(), signal.SIGKILL))
submit._Submission._cause = die
runtime(Journal("journal.db")).submit(TurnStart())
"""
        done = subprocess.run([sys.executable, "-c", program], check=False)
        assert done.returncode == -signal.SIGKILL
        with Journal("journal.db") as journal:
            assert kinds(journal) == [Kind.TURN_START, Kind.EFFECT]
            runtime(journal).submit(TurnStart())

            found = [Kind.CUSTOM, Kind.TURN_START, Kind.EFFECT, Kind.CUSTOM]
            assert kinds(journal)[2:] == found
            assert journal.open_plans("default") == []

    def test_is_told_although_another_process_said_the_same_meanwhile(self, root):
        with Journal("journal.db") as journal:
            here = runtime(journal)
            here.submit(TurnStart())
            here.submit(TurnStart())
            # As if the process that made the first decision had died before it told of it.
            journal.query("INSERT INTO open_plans VALUES (1, 'default', ?)", (_dead(),))
            journal.query("INSERT INTO owed VALUES (1, 1)")
            runtime(journal).submit(TurnStart())

            assert kinds(journal).count(Kind.CUSTOM) == 4
            assert journal.query("SELECT * FROM owed") == []

    def test_is_not_told_twice(self, root):
        with Journal("journal.db") as journal:
            runtime(journal).submit(TurnStart())
            journal.query("INSERT INTO open_plans VALUES (1, 'default', ?)", (_dead(),))
            runtime(journal).submit(TurnStart())

            assert kinds(journal).count(Kind.CUSTOM) == 2
            assert journal.open_plans("default") == []


def _dead():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = own_process_name().split("/")
    stat = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    child.communicate()
    return "/".join([*owner[:2], str(child.pid), stat[19]])


class TestAJournalThatFailsInBetween:
    def test_the_plan_is_finished_before_the_next_event(self, root):
        (root / "rules" / "logs.toml").write_text(LOGS)
        performed = []

        def log(due, event):
            performed.append(due.plan.rule)
            return DONE

        with Journal("journal.db") as journal:
            here = runtime(journal, performers={Op.LOG: log})
            record, failing = here.record, [True]

            def record_once_less(event, *debts):
                if event.kind is Kind.EFFECT and failing:
                    failing.clear()
                    raise JournalError(JOURNAL_FULL, "the disk is full")
                return record(event, *debts)

            here.record = record_once_less
            failed = here.submit(TurnStart())
            assert failed.problem == "the disk is full"
            assert len(journal.open_plans("default")) == 1
            here.submit(Custom(type="x"))

            assert journal.open_plans("default") == []
            assert kinds(journal).count(Kind.CUSTOM) >= 1
            assert len(performed) <= 1  # what may have begun is never begun again


def test_a_journal_with_foreign_parts_is_refused(root):
    """A repository could bring one whose triggers undo every record."""
    with Journal("journal.db") as journal:
        journal.query(
            "CREATE TRIGGER quiet BEFORE INSERT ON records BEGIN SELECT RAISE(IGNORE); END"
        )

    with pytest.raises(JournalError, match="did not create"):
        Journal("journal.db")


def test_a_journal_stays_where_it_was_opened(root):
    (root / "elsewhere").mkdir()
    with bylaw.Engine(bylaw.load("rules"), journal="journal.db") as engine:
        engine.submit({"kind": "turn.start"})
        os.chdir(root / "elsewhere")
        engine._loop().journal._database._looked = 0.0
        engine.submit({"kind": "turn.start"})

    assert not (root / "elsewhere" / "journal.db").exists()


def test_what_is_submitted_after_the_end_is_denied(root):
    engine = bylaw.Engine(bylaw.load("rules"), journal="journal.db")
    engine.submit({"kind": "turn.start"})
    engine.close()

    assert engine.submit({"kind": "tool.before", "tool": "shell"}).denied


def test_settings_count_in_a_journal_with_a_path_of_its_own(root):
    (root / "bylaw.toml").write_text('[journal]\nredact = ["sk-[a-z0-9]+"]\n')
    with bylaw.Engine(bylaw.load(), journal="named.db") as engine:
        engine.submit({"kind": "prompt", "text": "my key sk-abc123 here"})

    files = [one for one in root.iterdir() if one.name.startswith("named.db")]
    assert files
    assert not any(b"sk-abc123" in one.read_bytes() for one in files)


SCRIPT = """
[rule]
id = "script-{n}"
trigger = "on_turn_start"
[condition]
script = "{n}.lua"
[action]
type = "set_state"
key = "seen{n}"
value = 1
"""


def test_many_scripts_of_one_event_see_what_those_before_them_wrote(root):
    """TR-038, TR-A39: each is run with the state that it really has, also one that reads all."""
    for n in range(1, 7):
        (root / "rules" / f"script-{n}.toml").write_text(SCRIPT.format(n=n))
        seen = f"context.state.seen{n - 1} ~= nil" if n > 1 else "true"
        lua = f"local c = context; return {seen} and c.event.timestamp ~= nil"
        (root / "rules" / f"{n}.lua").write_text(lua)
    with bylaw.Engine(bylaw.load("rules"), journal="journal.db") as engine:
        fired = engine.submit({"kind": "turn.start"}).answer.decision.fired

    assert [uid.partition("#")[2] for uid in fired][1:] == [f"script-{n}" for n in range(1, 7)]


class TestOwners:
    def test_plans_of_a_living_process_are_not_taken_over(self, root):
        with Journal("journal.db") as journal:
            journal.query("INSERT INTO open_plans VALUES (9, 'default', ?)", (own_process_name(),))
        with Journal("journal.db") as journal:
            assert journal.open_plans("default") == [(9, own_process_name())]

    def test_those_of_nobody_known_are_adopted_where_nobody_vouches(self, root, tmp_path):
        with Journal("journal.db") as journal:
            journal.query("INSERT INTO open_plans VALUES (9, 'default', 'somebody')")
            journal.query("INSERT INTO open_plans VALUES (10, 'default', ?)", (own_process_name(),))
        anchor = Anchor(str(tmp_path / "state"), "journal.db")
        with Journal("journal.db", anchor=anchor) as journal:
            assert journal.open_plans("default") == [(9, NO_OWNER), (10, own_process_name())]


def test_a_gatherer_that_breaks_leaves_the_fact_unknown_and_is_logged(caplog):
    def broken(event, need):
        raise StopIteration("whatever a host's code raises")

    event = gather_facts(TurnStart(), (Need(NeedName.SCRIPTS, "d"),), {NeedName.SCRIPTS: broken})
    assert event.facts.unknown == ("scripts:d",)
    (logged,) = caplog.records
    assert (logged.name, logged.levelname) == ("bylaw", "ERROR")
    assert logged.getMessage() == "`scripts:d` is unknown because gathering it failed"
    assert "whatever a host's code raises" in caplog.text


def test_a_tool_may_submit_events_itself(root):
    """What is said inside does not swallow what is said around it."""
    notice = EMITS.replace('type = "emit_event"', 'type = "notify_self"\nmessage = "hello"')
    notice = "\n".join(
        line for line in notice.split("\n") if "event_type" not in line and "payload" not in line
    )
    (root / "rules" / "emits.toml").write_text(notice)
    with bylaw.Engine(bylaw.load("rules")) as engine:
        with engine._host.collect_messages() as outer:
            inner = engine.submit({"kind": "turn.start"})
            engine._host._collect(type("D", (), {"step": inner.messages[0]})(), TurnStart())

        assert [one.text for one in inner.messages] == ["hello"]
        assert [one.text for one in outer.messages] == ["hello"]


def test_verify_notices_that_rules_are_gone(root):
    with Journal("journal.db") as journal:
        runtime(journal).submit(TurnStart())
        journal.query("DELETE FROM rule_sets")

    report = verify("journal.db", decisions=False, tell=lambda _: None)
    flaws = [found.text for found in report.findings]
    assert flaws == ["the rules of record 1 are no longer stored"]
