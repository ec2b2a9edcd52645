"""Payloads are erased to the last byte; the chain stays whole, sessions go on, and it is told."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import bylaw
from bylaw.report.verify import ReplaySkip, verify
from bylaw.store.journal.errors import JournalError
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.purge import DAY_MS, PURGE_SESSION, Purge, PurgeResult
from bylaw.store.journal.sessions import SNAPSHOT_EVERY

RULES = """\
deny tool shell if count_calls('shell') >= 2 because twice is enough
on message set heard = history_length
"""
BEGIN = 20_000 * DAY_MS
ROOM = ["", "-wal", "-shm"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.lines").write_text(RULES)
    (tmp_path / "bylaw.toml").touch()
    return tmp_path


@pytest.fixture
def clock(monkeypatch):
    now = [BEGIN]
    monkeypatch.setattr("bylaw.store.system.time_ns", lambda: now[0] * 1_000_000)
    return now


@pytest.fixture
def engine(folder):
    with Journal("j.db") as journal, bylaw.Engine(bylaw.load("rules"), journal) as engine:
        engine.journal = journal
        yield engine


def live(engine, word, session="s", times=3):
    """Messages and calls that say a word, short and long."""
    for number in range(times):
        said = f"{word} {number} "
        about = {"session": session}
        call = {"tool": "shell", "call": f"c{number}", "args": {"a": {word: [said]}, "n": 7}}
        for text in (said, said * 50):
            engine.submit({"kind": "message", "role": "user", "text": text, **about})
        if not engine.submit({"kind": "tool.before", **call, **about}).denied:
            result = {"r": said * 50}
            engine.submit({"kind": "tool.after", **call, **about, "status": "ok", "result": result})


def says(word, path="j.db"):
    """Whether a word is anywhere in the bytes."""
    files = [Path(path + companion) for companion in ROOM]
    return any(word.encode() in one.read_bytes() for one in files if one.exists())


def found(path="j.db", *, decisions=False):
    report = verify(path, decisions=decisions, tell=lambda _: None)
    assert report.findings == []
    return report


class TestWhat:
    def test_one_session(self, engine):
        live(engine, "alpha", "a")
        live(engine, "beta", "b")
        assert says("alpha")

        purged = engine.journal.purge(Purge(session="a"))

        assert purged.sessions == 1
        assert not says("alpha")
        assert says("beta")
        assert found().erased.count == purged.payloads > 8

    def test_everything(self, engine):
        live(engine, "alpha", "a")
        live(engine, "beta", "b", SNAPSHOT_EVERY // 3)

        purged = engine.journal.purge(Purge())

        assert purged.sessions == 2
        assert not says("alpha")
        assert not says("beta")
        report = found(decisions=True)
        assert report.erased.count == purged.payloads == report.records - 1
        assert report.decisions.same == 1  # the record of the purge
        assert list(report.decisions.unchecked) == [ReplaySkip.ERASED]

    def test_up_to_a_time(self, engine, clock):
        live(engine, "alpha")
        clock[0] += DAY_MS
        live(engine, "beta")

        engine.journal.purge(Purge(before=BEGIN + DAY_MS))

        assert not says("alpha")
        assert says("beta")
        assert found(decisions=True).decisions.unchecked[ReplaySkip.RESTS_ON_ERASED].count > 5
        session = engine.journal.session("s")
        assert [said.content[:4] for said in session.history.messages if said.role == "user"] == [
            *["[era"] * 6,
            *["beta"] * 6,
        ]

    def test_nothing(self, engine):
        live(engine, "alpha")
        ((records,),) = engine.journal.query("SELECT count(*) FROM records")

        assert engine.journal.purge(Purge(before=0)) == PurgeResult()
        assert engine.journal.query("SELECT count(*) FROM records") == [(records,)]

    def test_it_is_told_by_a_record_that_nobody_erases(self, engine):
        live(engine, "alpha", "a")
        purged = engine.journal.purge(Purge(session="a"))
        engine.journal.purge(Purge())

        records = engine.journal.query(
            "SELECT p.event FROM records JOIN payloads p USING (seq) WHERE session = ?",
            (PURGE_SESSION,),
        )
        assert [b'"type":"journal.purge"' in event for (event,) in records] == [True]
        assert f'"session":"a","payloads":{purged.payloads}'.encode() in records[0][0]

    def test_what_somebody_else_takes_away_shows(self, engine):
        live(engine, "alpha", "a")
        live(engine, "beta", "b")
        engine.journal.purge(Purge(session="a"))
        engine.journal.query(
            "DELETE FROM payloads WHERE seq = (SELECT max(seq) FROM records WHERE session = 'b')"
        )

        (finding,) = verify("j.db", decisions=False, tell=lambda _: None).findings
        assert (finding.session, finding.text) == (
            "b",
            "its payload is gone, but no purge covers it",
        )


class TestSessions:
    def test_a_session_goes_on_with_its_counters_and_variables(self, engine):
        live(engine, "alpha")
        before = engine.journal.session("s")
        engine.journal.purge(Purge(session="s"))
        after = engine.journal.session("s")

        assert after.history.last_user == after.history.messages[0].content == "[erased]"
        assert after.calls.tools[0].arguments == {}
        assert after.calls.tools[0].result == "[erased]"
        assert after.calls.by_name == before.calls.by_name
        assert after.slate == before.slate
        assert after.history.length == before.history.length
        # The quota is as used up as it was.
        call = {"kind": "tool.before", "tool": "shell", "session": "s"}
        assert engine.submit(call).denied

    def test_a_session_that_ended_is_gone(self, engine):
        live(engine, "alpha")
        engine.submit({"kind": "session.end", "session": "s"})
        engine.journal.purge(Purge())

        session = engine.journal.session("s")
        assert session.history.length == 0
        assert session.calls.by_name == {}
        call = {"kind": "tool.before", "tool": "shell", "session": "s"}
        assert not engine.submit(call).denied

    def test_another_process_writes_nothing_of_it_again(self, engine, folder):
        """It has the session at hand, with all its texts."""
        live(engine, "alpha")
        with Journal("j.db") as other:
            other.purge(Purge(session="s"))
        assert not says("alpha")

        live(engine, "gamma", times=SNAPSHOT_EVERY)

        assert not says("alpha")
        assert engine.journal.session("s").history.length > SNAPSHOT_EVERY
        found()

    def test_a_text_that_a_living_record_says_stays(self, engine, clock):
        long = "the same words " * 40
        engine.submit({"kind": "message", "role": "user", "text": long, "session": "s"})
        clock[0] += DAY_MS
        engine.submit({"kind": "message", "role": "user", "text": long, "session": "s"})

        engine.journal.purge(Purge(before=BEGIN + DAY_MS))

        assert engine.journal.session("s").history.last_user == long

    def test_texts_that_no_session_needs_are_forgotten(self, engine):
        live(engine, "alpha", times=SNAPSHOT_EVERY * 2)
        live(engine, "beta", "b", times=1)
        ((before,),) = engine.journal.query("SELECT count(*) FROM texts")
        engine.journal.purge(Purge(session="b"))

        ((after,),) = engine.journal.query("SELECT count(*) FROM texts")
        assert 0 < after < before
        found()


class TestBytes:
    def test_a_reader_that_looks_at_the_past_is_told_of(self, engine):
        live(engine, "alpha")
        with closing(sqlite3.connect("j.db", isolation_level=None)) as reader:
            engine.journal.query("PRAGMA busy_timeout = 50")
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM payloads").fetchone()
            with pytest.raises(JournalError, match="run the purge again") as refused:
                engine.journal.purge(Purge())
            assert refused.value.code == "journal-busy"
            reader.execute("ROLLBACK")

        assert engine.journal.purge(Purge()) == PurgeResult()
        assert not says("alpha")
        found()

    def test_the_file_gets_smaller(self, engine):
        live(engine, "alpha", times=300)
        engine.journal.query("PRAGMA wal_checkpoint(TRUNCATE)")
        before = Path("j.db").stat().st_size
        engine.journal.purge(Purge())

        assert Path("j.db").stat().st_size < before / 2


class TestKeepDays:
    def use(self, days, word):
        Path("bylaw.toml").write_text(f"[journal]\nkeep_days = {days}\n")
        with bylaw.Engine(bylaw.load("rules"), journal=True) as engine:
            live(engine, word, times=1)

    def test_what_is_older_goes_when_the_journal_is_opened(self, folder, clock):
        path = ".bylaw/state/journal.db"
        self.use(2, "alpha")
        clock[0] += DAY_MS
        self.use(2, "beta")
        clock[0] += DAY_MS
        self.use(2, "gamma")
        assert says("alpha", path)

        clock[0] += DAY_MS
        self.use(2, "delta")

        assert not says("alpha", path)
        assert all(says(word, path) for word in ("beta", "gamma", "delta"))
        found(path)

    def test_once_a_day(self, folder, clock):
        self.use(1, "alpha")
        clock[0] += 2 * DAY_MS
        for _ in range(3):
            self.use(1, "beta")

        with Journal(".bylaw/state/journal.db") as journal:
            question = "SELECT count(*) FROM records WHERE session = ?"
            assert journal.query(question, (PURGE_SESSION,)) == [(1,)]

    def test_who_cannot_erase_now_is_not_kept_from_recording(self, folder, clock, monkeypatch):
        path = ".bylaw/state/journal.db"
        self.use(1, "alpha")
        clock[0] += 2 * DAY_MS
        monkeypatch.setattr("bylaw.store.state_folder.PATIENCE_S", 0.05)
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM payloads").fetchone()
            self.use(1, "beta")

        assert says("beta", path)
        found(path)
