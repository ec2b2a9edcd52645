"""The journal of a root, and plans that were left open: by a dead process, or by nobody we know."""

import os
import shutil
from pathlib import Path

import pytest
from journal_law import chores, quota, runtime

import bylaw
from bylaw.model.event import Message, Prompt, ToolBefore
from bylaw.model.vocabulary import Role, Verdict
from bylaw.report.verify import verify
from bylaw.runtime.journal_access import anchor_of, open_journal
from bylaw.runtime.root import read_configuration
from bylaw.store.journal.database import Anchor, Durability
from bylaw.store.journal.errors import JournalError
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.records import STORED_QUERY, record_from_row

WORD = Message(role=Role.USER, text="hello")


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path / "root"
    root.mkdir()
    (root / "bylaw.toml").touch()
    monkeypatch.chdir(root)
    return root


def opened(root):
    return open_journal(str(root), read_configuration(str(root)))


class TestOpening:
    def test_it_lies_in_the_state_folder_for_this_user_alone(self, root):
        with opened(root):
            pass

        state = root / ".bylaw" / "state"
        assert state.stat().st_mode & 0o777 == 0o700
        assert (state / ".gitignore").read_text() == "*\n"
        assert (state / "journal.db").stat().st_mode & 0o777 == 0o600

    def test_settings_say_where_and_how(self, root):
        (root / "bylaw.toml").write_text(
            '[journal]\npath = "logs/own.db"\ndurability = "power"\nredact = ["pass[a-z]{1,9}"]\n'
        )
        with opened(root) as journal:
            runtime(journal, quota(1)).submit(Message(role=Role.USER, text="password"))
            assert journal.query("PRAGMA synchronous") == [(2,)]
            assert b"[redacted]" in journal.query("SELECT event FROM payloads")[0][0]

        assert (root / "logs" / "own.db").exists()
        with Journal("other.db", durability=Durability.PROCESS) as journal:
            assert journal.query("PRAGMA synchronous") == [(1,)]

    @pytest.mark.parametrize("link", [".bylaw", ".bylaw/state", ".bylaw/state/journal.db", "logs"])
    def test_no_link_leads_out_of_the_root(self, root, tmp_path, link):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(elsewhere)
        if link == "logs":
            (root / "bylaw.toml").write_text('[journal]\npath = "logs/own.db"\n')

        with pytest.raises(JournalError) as refused:
            opened(root)

        assert refused.value.code == "journal-unusable"
        assert list(elsewhere.iterdir()) == []

    def test_an_engine_uses_it(self, root):
        for number in (1, 2):
            with bylaw.Engine(bylaw.load(), journal=True) as engine:
                assert engine.submit({"kind": "prompt"}).answer.event.seq == number

    def test_an_engine_denies_if_it_cannot_be_opened(self, root):
        (root / ".bylaw").symlink_to("/nowhere")
        with bylaw.Engine(bylaw.load(), journal=True) as engine:
            reply = engine.submit({"kind": "tool.before", "tool": "ls"})

        assert reply.verdict is Verdict.DENY
        assert "leads out of the root" in reply.reasons[0].text

    def test_books_of_nowhere_have_no_journal(self, root):
        with bylaw.Engine((), journal=True) as engine, pytest.raises(bylaw.BylawError):
            engine.submit({"kind": "prompt"})


class TestAnchor:
    def test_it_follows_the_head(self, root, a_person):
        with opened(root) as journal:
            work = runtime(journal, quota(1))
            for number in (1, 2, 3):
                work.submit(WORD)
                assert anchor_of(str(root), journal.path).read()[0] == number

        anchor = Path(anchor_of(str(root), journal.path).path)
        assert anchor.is_relative_to(a_person / "bylaw" / "anchors")
        assert anchor.stat().st_mode & 0o777 == 0o600

    def test_there_is_none_inside_the_repository(self, root, monkeypatch):
        monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))

        assert anchor_of(str(root), "j.db") is None
        with opened(root) as journal:
            assert runtime(journal, quota(1)).submit(WORD).problem == ""

    def test_a_folder_that_cannot_be_written_is_no_failure(self, root, monkeypatch):
        monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
        with opened(root) as journal:
            assert runtime(journal, quota(1)).submit(WORD).problem == ""

    def test_torn_or_foreign_notes_are_none(self, root, a_person):
        anchor = Anchor(str(a_person), "j.db")
        anchor.move(7, bytes(32))
        assert anchor.read() == (7, bytes(32))
        anchor.close()
        Path(anchor.path).write_bytes(b"short")
        assert anchor.read() is None

    def test_a_journal_that_begins_anew_shows(self, root, a_person):
        with opened(root) as journal:
            runtime(journal, quota(1)).submit(WORD)
        shutil.rmtree(root / ".bylaw")
        with opened(root) as journal:
            assert not journal.matches_anchor
            runtime(journal, quota(1)).submit(Message(role=Role.USER, text="another"))

        (finding,) = verify(journal.path, decisions=False, tell=lambda _: None).findings
        assert "the journal was replaced" in finding.text


def leave_open(path, **more):
    """A process that dies while it performs the second step of a prompt."""
    pid = os.fork()
    if not pid:
        work = runtime(path, chores(), **more)
        steps = []

        def perform(due, event):
            steps.append(due)
            if len(steps) == 2:
                os._exit(0)
            return runtime_perform(due, event)

        (op,) = work.performers
        runtime_perform = work.performers[op]
        work.performers = {op: perform}
        work.submit(Prompt(text="secret word"))
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


def effects(journal):
    rows = journal.query(f"{STORED_QUERY} WHERE r.kind = 'effect' ORDER BY r.seq")
    events = [record_from_row(row).record.event for row in rows]
    return [(event.of, event.step, event.status.value) for event in events]


class TestLeftOpen:
    def test_the_next_process_closes_them_once(self, root):
        leave_open("j.db", done="done")
        for _ in range(2):
            with Journal("j.db") as journal:
                runtime(journal, chores(), done="done").submit(WORD)
                assert effects(journal) == [(1, 1, "ok"), (1, 2, "failed")]
                assert journal.query("SELECT * FROM open_plans") == []
        assert (root / "done").read_text() == "1 1\n"

    def test_another_session_does_not_touch_them(self, root):
        leave_open("j.db")
        with Journal("j.db") as journal:
            other = ToolBefore(session="other", tool="ls")
            runtime(journal, chores()).submit(other)
            assert journal.query("SELECT seq FROM open_plans") == [(1,)]

    def test_a_living_process_keeps_them(self, root):
        with Journal("j.db") as mine, Journal("j.db") as other:
            work = runtime(mine, chores())
            (op,) = work.performers
            seen = []

            def perform(due, event):
                runtime(other, chores()).submit(WORD)
                seen.append(other.query("SELECT seq FROM open_plans"))
                return before(due, event)

            before = work.performers[op]
            work.performers = {op: perform}
            work.submit(Prompt(text="go"))

            assert seen == [[(1,)]] * 3
            assert [status for _, _, status in effects(mine)] == ["ok"] * 3
            assert mine.query("SELECT * FROM open_plans") == []

    def test_a_journal_that_came_with_the_repository_starts_nothing(self, root, a_person):
        """On failure a plan may go on, with steps that nobody here decided."""
        leave_open("j.db", done="done")
        for _ in range(2):
            with Journal("j.db", anchor=anchor_of(str(root), "j.db")) as journal:
                runtime(journal, chores(), done="done").submit(WORD)
                assert effects(journal) == [(1, 1, "ok"), (1, 2, "failed")]
        assert (root / "done").read_text() == "1 1\n"
