"""A journal that cannot be used: gates stay closed and say why, nothing is lost, then it goes on."""

import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from journal_law import chores, quota, runtime

import bylaw
from bylaw.model.event import Message, Prompt, ToolBefore
from bylaw.model.vocabulary import Role, Verdict
from bylaw.report.verify import verify
from bylaw.runtime.journal_access import anchor_of
from bylaw.store.journal.database import Durability
from bylaw.store.journal.errors import JournalError
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.search import JournalReader
from bylaw.store.journal.sessions import SNAPSHOT_EVERY

NOBODY = 65534
GATE = ToolBefore(tool="ls")
NO_GATE = Message(role=Role.USER, text="it happened")


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "j.db")


def fill(path, events=20):
    with Journal(path) as journal:
        work = runtime(journal, quota(1_000))
        for number in range(events):
            work.submit(Message(role=Role.USER, text=f"message {number} " * 20))


def code_of(path):
    """Why the journal cannot be opened."""
    with pytest.raises(JournalError) as refused:
        Journal(path)
    return refused.value.code


def wrong_with(path):
    return [one.text for one in verify(path, decisions=False, tell=lambda _: None).findings]


def assert_closed(answer, code_words):
    assert answer.verdict is Verdict.DENY
    (reason,) = answer.deciding.reasons
    assert reason.uid == "bylaw:builtin#journal"
    assert reason.text.startswith("not recorded: the journal `")
    assert code_words in reason.text


class TestFullDisk:
    def test_pages_run_out_and_come_back(self, path):
        with Journal(path) as journal:
            work = runtime(journal, quota(1_000))
            journal.query("PRAGMA max_page_count = 30")
            answers = [work.submit(GATE) for _ in range(500)]
            closed = [answer for answer in answers if answer.problem]
            told = [answer.event.seq for answer in answers if not answer.problem]

            assert_closed(
                closed[0], "free some space, or erase old payloads with `bylaw journal purge`"
            )
            assert work.submit(NO_GATE).verdict is Verdict.WARN
            assert wrong_with(path) == []

            journal.query("PRAGMA max_page_count = 100000")
            after = work.submit(GATE)

        assert told == list(range(1, len(told) + 1))
        assert after.problem == ""
        assert after.event.seq == len(told) + 1
        assert wrong_with(path) == []

    def test_a_process_may_write_no_larger_files(self, path):
        """As on a full disk; SQLite itself only speaks of an I/O error here."""
        fill(path, 5)
        code = f"""
import resource, sys
sys.path[:0] = {[str(Path(__file__).parent)]!r}
from test_journal_trouble import *
with Journal({path!r}) as journal:
    work = runtime(journal, quota(1000))
    assert work.submit(GATE).problem == ""
    free = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, free[1]))
    answers = [work.submit(GATE) for _ in range(200)]
    told = [answer.event.seq for answer in answers if not answer.problem]
    assert_closed(answers[-1], "the disk is full")
    resource.setrlimit(resource.RLIMIT_FSIZE, free)
    answer = work.submit(GATE)
    assert answer.problem == "", answer.problem
    assert answer.event.seq == told[-1] + 1 == 6 + len(told) + 1
"""
        run_python(code)
        assert wrong_with(path) == []
        assert not list(Path(path).parent.glob(".*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
class TestRights:
    """Tried as another user, since nothing is forbidden to this one."""

    @pytest.fixture
    def theirs(self):
        """A folder of `nobody`, which others can reach."""
        with tempfile.TemporaryDirectory() as name:  # those of pytest are for their user alone
            folder = Path(name)
            folder.chmod(0o755)
            os.chown(folder, NOBODY, NOBODY)
            yield folder

    def as_nobody(self, theirs, code):
        source = f"""
import os, sys
sys.path[:0] = {[str(Path(__file__).parent)]!r}
from test_journal_trouble import *
with bylaw.Engine(()) as engine:  # the modules are not where everybody can read them
    engine.submit(GATE)
os.setgid({NOBODY}); os.setuid({NOBODY})
path = {str(theirs / "j.db")!r}
{code}
"""
        run_python(source)

    def test_a_folder_in_which_nothing_can_be_made(self, theirs):
        theirs.chmod(0o555)
        refused = "assert code_of(path) == 'journal-unusable'"
        self.as_nobody(theirs, refused)

        theirs.chmod(0o755)
        self.as_nobody(theirs, "fill(path)\nassert wrong_with(path) == []")

    def test_a_file_that_cannot_be_written_to_can_be_verified(self, theirs):
        self.as_nobody(theirs, "fill(path)")
        (theirs / "j.db").chmod(0o444)
        os.chown(theirs / "j.db", 0, 0)
        os.chown(theirs, 0, 0)
        self.as_nobody(
            theirs,
            "assert code_of(path) == 'journal-unusable'\nassert wrong_with(path) == []",
        )

    def test_an_engine_denies_until_the_rights_are_back(self, theirs):
        self.as_nobody(theirs, "fill(path)")
        (theirs / "j.db").chmod(0o400)
        os.chown(theirs, 0, 0)
        closed = """
with bylaw.Engine((), journal=path) as engine:
    assert_closed(engine.submit(GATE).answer, "give this user read and write access")
    assert engine.submit(NO_GATE).verdict is Verdict.WARN
"""
        self.as_nobody(theirs, closed)

        (theirs / "j.db").chmod(0o600)
        os.chown(theirs, NOBODY, NOBODY)
        self.as_nobody(theirs, "fill(path, 1)\nassert wrong_with(path) == []")


def run_python(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")


class TestForeignFiles:
    @pytest.mark.parametrize("content", [b"this is no database at all, but a text", b"\0" * 5000])
    def test_no_database(self, path, content):
        Path(path).write_bytes(content)

        assert code_of(path) == "journal-corrupt"
        assert Path(path).read_bytes() == content

    def test_a_database_of_something_else_is_left_as_it_is(self, path):
        with closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE theirs (a)")
            other.commit()
        before = Path(path).read_bytes()

        assert code_of(path) == "journal-corrupt"
        assert Path(path).read_bytes() == before  # not even another mode of writing

    def test_a_newer_journal_is_left_as_it_is(self, path):
        fill(path)
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA user_version = 999")
        before = Path(path).read_bytes()

        assert code_of(path) == "journal-newer"
        with pytest.raises(JournalError, match="of a newer Bylaw"):
            JournalReader(path)
        assert Path(path).read_bytes() == before

    def test_a_link_is_not_followed(self, path, tmp_path):
        (tmp_path / "elsewhere.db").touch()
        Path(path).symlink_to(tmp_path / "elsewhere.db")

        assert code_of(path) == "journal-unusable"

    def test_an_engine_denies_and_goes_on_when_the_file_is_moved_away(self, path):
        Path(path).write_bytes(b"this is no database at all, but a text")
        with bylaw.Engine((), journal=path) as engine:
            assert_closed(engine.submit(GATE).answer, "move it away")
            Path(path).rename(f"{path}.damaged")

            assert engine.submit(GATE).answer.event.seq == 1


class TestBusy:
    def test_another_process_holds_it_for_long(self, path):
        fill(path, 3)
        with Journal(path) as journal, closing(sqlite3.connect(path)) as other:
            journal.query("PRAGMA busy_timeout = 50")
            work = runtime(journal, quota(1_000))
            other.execute("BEGIN IMMEDIATE")
            assert_closed(work.submit(GATE), "try again when it has exited")
            other.rollback()

            assert work.submit(GATE).event.seq == 4

    def test_others_are_waited_for(self, path):
        fill(path, 3)
        code = f"""
import sqlite3, sys, time
other = sqlite3.connect({path!r})
other.execute("BEGIN IMMEDIATE")
print(flush=True)
time.sleep(0.5)
other.rollback()
"""
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            with Journal(path) as journal:
                assert runtime(journal, quota(1_000)).submit(GATE).problem == ""
        assert process.returncode == 0

    def test_many_processes_make_the_same_journal(self, path):
        code = f"""
import sys
import tempfile
sys.path[:0] = {[str(Path(__file__).parent)]!r}
from test_journal_trouble import *
sys.stdin.readline()
fill({path!r}, 5)
"""
        processes = [
            subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) for _ in range(4)
        ]
        for process in processes:
            process.communicate(b"\n")
        assert [process.returncode for process in processes] == [0] * 4
        assert wrong_with(path) == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a journal."""
    path = tmp_path_factory.mktemp("whole") / "j.db"
    with Journal(str(path)) as journal:
        work = runtime(journal, quota(5), chores())
        for number in range(150):
            session = f"session {number % 3}"
            work.submit(Prompt(session=session, text=f"prompt {number}" * 40))
            work.submit(ToolBefore(session=session, tool="shell", call=str(number)))
    return path.read_bytes()


class TestDamage:
    """Whatever the bytes are: a journal error or a finding, never anything else."""

    def use(self, path):
        """Submit and verify; what went wrong, by code, or what was found."""
        try:
            with Journal(path) as journal:
                for session in ("session 0", "session 1", "a new one"):
                    answer = runtime(journal, quota(5)).submit(
                        ToolBefore(session=session, tool="a")
                    )
                    assert not answer.problem or answer.verdict is Verdict.DENY
            return wrong_with(path)
        except JournalError as problem:
            return [problem.code]

    @pytest.mark.parametrize("seed", range(4))
    def test_flipped_bytes(self, whole, path, seed):
        chance = random.Random(seed)
        harmed = 0
        for _ in range(60):
            data = bytearray(whole)
            for _ in range(chance.choice([1, 1, 1, 10])):
                data[chance.randrange(len(data))] ^= chance.randrange(1, 256)
            Path(path).write_bytes(data)
            harmed += bool(self.use(path))
            for one in Path(path).parent.glob("j.db*"):
                one.unlink()
        assert harmed > 20  # the others hit room that nobody uses

    def test_flipped_bytes_of_the_header(self, whole, path):
        for place in range(100):
            data = bytearray(whole)
            data[place] ^= 0x5A
            Path(path).write_bytes(data)
            self.use(path)
            for one in Path(path).parent.glob("j.db*"):
                one.unlink()

    @pytest.mark.parametrize("part", [0.1, 0.37, 0.5, 0.9, 0.999])
    def test_a_file_that_was_cut(self, whole, path, part):
        Path(path).write_bytes(whole[: int(len(whole) * part)])

        assert self.use(path) != []

    def test_every_payload_byte_counts(self, whole, path):
        place = whole.index(b"prompt 7prompt 7")
        Path(path).write_bytes(whole[:place] + b"P" + whole[place + 1 :])

        assert "its payload does not match the digest of the record" in wrong_with(path)

    def test_the_log_of_another_journal(self, path, tmp_path):
        """SQLite takes it for its own; what comes of it must show."""
        other = tmp_path / "other.db"
        with Journal(str(other)) as journal:
            work = runtime(journal, quota(5))
            for number in range(300):
                work.submit(Message(role=Role.USER, text=f"other {number} " * 10))
            shutil.copy(f"{other}-wal", tmp_path / "log")
        fill(path, 300)
        (tmp_path / "log").rename(f"{path}-wal")

        with JournalReader(path) as reader:
            text = reader.query("SELECT event FROM payloads ORDER BY seq LIMIT 1")[0][0]
        # Either it is a whole journal, another one, or it is damaged and that is found.
        if b"other" in text:
            assert wrong_with(path) == []
        else:
            assert self.use(path) != []

    def test_a_log_of_bytes_is_no_log(self, path):
        fill(path, 10)
        Path(f"{path}-wal").write_bytes(random.Random(1).randbytes(50_000))

        assert wrong_with(path) == []
        fill(path, 10)
        assert wrong_with(path) == []


class TestChanges:
    """The file is changed by somebody who knows what a database is."""

    @pytest.fixture
    def written(self, path):
        with Journal(path) as journal:
            work = runtime(journal, quota(5), chores())
            for number in range(SNAPSHOT_EVERY + 10):
                work.submit(Prompt(text=f"prompt {number}"))
                work.submit(Message(session="other", role=Role.USER, text="x" * 400))
        return path

    def change(self, path, *statements):
        with closing(sqlite3.connect(path)) as other:
            for statement in statements:
                other.execute(statement)
            other.commit()

    @pytest.mark.parametrize(
        ("statement", "found"),
        [
            (
                "UPDATE records SET verdict = 'deny' WHERE seq = 7",
                "it does not match the hash chain",
            ),
            ("UPDATE records SET at = at + 1 WHERE seq = 7", "it does not match the hash chain"),
            ("DELETE FROM records WHERE seq = 7", "missing before it: 7"),
            ("DELETE FROM records WHERE seq < 4", "missing before it: 1 to 3"),
            (
                "DELETE FROM payloads WHERE seq = 7",
                "its payload is gone, but no purge covers it",
            ),
            (
                "UPDATE payloads SET decision = x'7b7d' WHERE seq = 7",
                "its payload does not match the digest of the record",
            ),
            (
                "INSERT INTO payloads VALUES (999, x'00', x'00')",
                "payload without a record",
            ),
            (
                "UPDATE sessions SET core = x'00' WHERE id = 'other'",
                "its stored state cannot be read",
            ),
            ("DELETE FROM sessions WHERE id = 'other'", "it is not stored"),
            ("INSERT INTO sessions VALUES ('new', 1, x'00')", "it is stored, but has no records"),
            ("DROP TABLE payloads", "no such table"),
            ("UPDATE texts SET text = 'y'", "does not match its digest"),
        ],
    )
    def test_a_change_is_found(self, written, statement, found):
        assert wrong_with(written) == []
        self.change(written, statement)

        assert any(found in text for text in wrong_with(written)), wrong_with(written)

    def test_a_state_that_its_records_do_not_give(self, written):
        with Journal(written) as journal:
            ((core,),) = journal.query("SELECT core FROM sessions WHERE id = 'other'")
            changed = re.sub(rb'"length":[0-9]+', b'"length":7', core)
            journal.query("UPDATE sessions SET core = ? WHERE id = 'other'", (changed,))

        (found,) = wrong_with(written)
        assert re.fullmatch("it does not match its records up to [0-9]+: `history` differs", found)

    def test_a_chain_that_was_written_anew_shows_against_the_anchor(
        self, written, a_person, monkeypatch
    ):
        monkeypatch.chdir(Path(written).parent)
        anchor = anchor_of(".", written)
        with Journal(written, anchor=anchor) as journal:
            runtime(journal, quota(5)).submit(NO_GATE)
        assert wrong_with(written) == []
        copy = Path(written).read_bytes()

        with Journal(written, anchor=anchor) as journal:
            runtime(journal, quota(5)).submit(NO_GATE)
        Path(written).write_bytes(copy)
        (text,) = wrong_with(written)
        assert "its end was cut off, or lost in a power failure" in text

        # Whoever goes on writes no new note over it.
        with Journal(written, anchor=anchor) as journal:
            assert not journal.matches_anchor
            for _ in range(5):
                runtime(journal, quota(5)).submit(NO_GATE)
        (text,) = wrong_with(written)
        assert "the journal was replaced" in text

        Path(anchor.path).unlink()
        assert wrong_with(written) == []


class TestLife:
    def test_a_child_must_open_it_again(self, path):
        with Journal(path) as journal:
            work = runtime(journal, quota(5))
            work.submit(NO_GATE)
            if not (pid := os.fork()):
                os._exit("after a fork" not in work.submit(GATE).problem)
            assert os.waitpid(pid, 0)[1] == 0
            assert work.submit(NO_GATE).event.seq == 2

    def test_a_file_that_is_removed_while_it_is_open(self, path, monkeypatch):
        monkeypatch.setattr("bylaw.store.journal.database.RECHECK_S", 0)
        with Journal(path) as journal:
            work = runtime(journal, quota(5))
            for _ in range(3):
                work.submit(NO_GATE)
            for one in Path(path).parent.glob("j.db*"):
                one.unlink()

            assert work.submit(NO_GATE).event.seq == 1
        assert wrong_with(path) == []

    def test_files_are_for_this_user_alone(self, tmp_path):
        path = tmp_path / "new" / "j.db"
        with Journal(str(path), durability=Durability.POWER) as journal:
            runtime(journal, quota(5)).submit(NO_GATE)
            modes = {one.name: one.stat().st_mode & 0o777 for one in path.parent.iterdir()}

        assert modes == {"j.db": 0o600, "j.db-wal": 0o600, "j.db-shm": 0o600}
        assert path.parent.stat().st_mode & 0o777 == 0o700

    def test_a_stopped_process_does_not_stop_others(self, path):
        """It holds no lock between two records."""
        code = f"""
import sys
import tempfile
sys.path[:0] = {[str(Path(__file__).parent)]!r}
from test_journal_trouble import *
work = runtime(Journal({path!r}), quota(5))
work.submit(NO_GATE)
print(flush=True)
time.sleep(600)
"""
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            process.send_signal(signal.SIGSTOP)
            fill(path)  # it would fail if the journal was locked
            process.kill()
        assert wrong_with(path) == []
