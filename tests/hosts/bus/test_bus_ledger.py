"""The ledger: who may begin a message, what approvals are for, and what several processes make of it."""

import os
import sqlite3
from contextlib import closing
from stat import S_IMODE
from threading import Thread

import pytest
from bus_processes import all_at_once
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.hosts.bus.ledger import LEDGER_PATH, MAX_WHY, Ledger, LedgerEntry, MessageState
from bylaw.model.errors import BylawError, LoadError


@pytest.fixture
def ledger(tmp_path):
    with closing(Ledger(str(tmp_path))) as opened:
        yield opened


def begin(ledger, msg_id="m", **changes):
    said = {"digest": "d1", "file": "a.yaml", "claim": "c1", "owner": "o1", "after_seq": 7, "at": 1}
    return ledger.begin(msg_id, **(said | changes))


def read_all(root):
    with closing(Ledger(str(root))) as ledger:
        ledger.recent(1000, *MessageState)


def test_a_message_is_begun_once(ledger):
    """LD-024, LD-A07"""
    assert ledger.known("m") is None
    assert begin(ledger) is None
    first = LedgerEntry("m", "d1", MessageState.RUNNING, "a.yaml", "c1", "o1", 0, "", "", 1, 1, 7)
    assert ledger.known("m") == first
    assert begin(ledger, owner="o2", digest="d2", claim="c2", at=5) == first
    assert ledger.known("m") == first
    assert ledger.digest_of("m") == "d1"


@pytest.mark.parametrize("state", [MessageState.DONE, MessageState.FAILED, MessageState.REFUSED])
def test_what_ended_never_begins_again(ledger, state):
    begin(ledger)
    ledger.end("m", state, why="so it is", at=2)
    assert begin(ledger, at=3) == ledger.known("m")
    assert ledger.known("m").state is state
    assert (ledger.known("m").why, ledger.known("m").at) == ("so it is", 2)


@pytest.mark.parametrize("state", [MessageState.HELD, MessageState.WAITING])
def test_what_waits_is_tried_again_from_its_file(ledger, state):
    begin(ledger)
    ledger.end("m", state, why="no approval", fingerprint="f", at=2)
    assert begin(ledger, file="b.yaml").file == "a.yaml"
    assert begin(ledger, owner="o2", claim="c2", digest="d2", at=3, after_seq=9) is None
    assert ledger.known("m") == LedgerEntry(
        "m", "d2", MessageState.RUNNING, "a.yaml", "c2", "o2", 1, "", "", 1, 3, 9
    )
    assert ledger.digest_of("m") == "d1"  # approvals are still for what it was
    ledger.end("m", state, at=4)
    assert begin(ledger, at=5) is None
    assert ledger.known("m").tries == 2


def test_what_waits_under_another_name(ledger):
    begin(ledger)
    ledger.end("m", MessageState.HELD, at=2)
    ledger.moved("m", "a-2.yaml")
    assert begin(ledger, file="a.yaml").file == "a-2.yaml"
    assert begin(ledger, file="a-2.yaml") is None
    assert ledger.known("m").tries == 1


def test_what_was_withdrawn_begins_anew(ledger):
    begin(ledger)
    ledger.end("m", MessageState.HELD, at=2)
    begin(ledger, at=3)
    ledger.end("m", MessageState.WITHDRAWN, at=4)
    assert begin(ledger, file="b.yaml", at=5) is None
    known = ledger.known("m")
    assert (known.tries, known.first_at, known.file) == (0, 5, "b.yaml")


def test_of_two_who_take_over_one_does(ledger):
    begin(ledger)
    known = ledger.known("m")
    assert ledger.take_over(known, "o2")
    assert not ledger.take_over(known, "o3")
    assert ledger.known("m").owner == "o2"
    ledger.end("m", MessageState.DONE, at=2)
    assert not ledger.take_over(ledger.known("m"), "o4")


def test_lists(ledger):
    for n, state in enumerate(
        [MessageState.DONE, MessageState.HELD, MessageState.RUNNING, MessageState.HELD]
    ):
        begin(ledger, f"m{n}", at=n)
        if state is not MessageState.RUNNING:
            ledger.end(f"m{n}", state, at=10 - n)
    assert [one.msg_id for one in ledger.messages_in(MessageState.HELD)] == ["m3", "m1"]
    assert [one.msg_id for one in ledger.messages_in(MessageState.HELD, MessageState.RUNNING)] == [
        "m2",
        "m3",
        "m1",
    ]
    assert ledger.messages_in() == []
    assert [one.msg_id for one in ledger.recent(3, *MessageState)] == ["m0", "m1", "m3"]
    assert ledger.counts() == dict.fromkeys(MessageState, 0) | {
        MessageState.DONE: 1, MessageState.HELD: 2, MessageState.RUNNING: 1,
    }  # fmt: skip


def test_hostile_texts(ledger):
    hostile = "a'); DROP TABLE messages; --\x00\x1b\n\udcff"
    begin(ledger, "m", file=hostile, claim=hostile)
    ledger.end("m", MessageState.FAILED, why=hostile * 1000, at=2)
    known = ledger.known("m")
    assert known.file == "a'); DROP TABLE messages; --\\u{0}\\u{1b}\\u{a}\\u{dcff}"
    assert len(known.why) == MAX_WHY
    assert known.why.isprintable()


def test_it_lasts_and_is_for_this_user_alone(tmp_path, ledger):
    begin(ledger)
    with closing(Ledger(str(tmp_path))) as again:
        assert again.known("m") == ledger.known("m")
    for name in (LEDGER_PATH, f"{LEDGER_PATH}-wal", f"{LEDGER_PATH}-shm"):
        assert S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert S_IMODE((tmp_path / ".bylaw/state").stat().st_mode) == 0o700


def test_begin_and_end_are_one_commit_each(ledger):
    said = []
    ledger._connection.set_trace_callback(said.append)
    begin(ledger)
    ledger.bind_all("m", {}, "d1")
    ledger.end("m", MessageState.DONE, at=2)
    assert sum(one == "COMMIT" for one in said) == 2
    assert ledger._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


@pytest.mark.parametrize("damage", [b"x" * 5000, b"SQLite format 3\0" + b"y" * 5000])
def test_a_damaged_file(tmp_path, damage):
    (tmp_path / ".bylaw/state").mkdir(parents=True)
    (tmp_path / LEDGER_PATH).write_bytes(damage)
    with pytest.raises(
        BylawError, match=r"is damaged: .*; move it, .* away, and Bylaw creates a new one"
    ):
        Ledger(str(tmp_path))
    assert (tmp_path / LEDGER_PATH).read_bytes() == damage


def test_another_database(tmp_path):
    (tmp_path / ".bylaw/state").mkdir(parents=True)
    with closing(sqlite3.connect(tmp_path / LEDGER_PATH)) as other:
        other.execute("CREATE TABLE messages (a)")
    with pytest.raises(BylawError, match="it is a database of another program"):
        Ledger(str(tmp_path))


def test_a_newer_version(tmp_path, ledger):
    ledger._connection.execute("PRAGMA user_version = 2")
    with pytest.raises(BylawError, match="has format 2 of a newer Bylaw; use that version"):
        Ledger(str(tmp_path))


def test_a_damaged_page_is_told_when_it_is_met(tmp_path):
    with closing(Ledger(str(tmp_path))) as ledger:
        for n in range(500):
            begin(ledger, f"m{n}")
    with (tmp_path / LEDGER_PATH).open("r+b") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(BylawError, match="is damaged"):
        read_all(tmp_path)


def test_what_is_moved_away_is_not_written_to(tmp_path, ledger):
    begin(ledger)
    (tmp_path / LEDGER_PATH).rename(tmp_path / "elsewhere.db")
    with pytest.raises(BylawError, match="was moved or replaced; restart the bus"):
        begin(ledger, "m2")


def test_no_link_leads_out(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / ".bylaw").symlink_to(outside)
    with pytest.raises(LoadError):
        Ledger(str(root))
    (root / ".bylaw").unlink()
    (root / ".bylaw/state").mkdir(parents=True)
    (root / LEDGER_PATH).symlink_to(outside / "x.db")
    with pytest.raises(BylawError, match="cannot be used"):
        Ledger(str(root))
    assert not list(outside.iterdir())


def test_a_failed_change_changes_nothing(ledger):
    begin(ledger)
    with pytest.raises(sqlite3.ProgrammingError):
        begin(ledger, "m2", owner=object())
    assert ledger.known("m2") is None
    assert begin(ledger, "m2") is None


def test_of_eight_processes_one_begins_each(tmp_path):
    said = all_at_once(8, "begin", tmp_path, 60)
    assert sorted(one for each in said for one in each) == sorted(f"m{n}" for n in range(60))
    with closing(Ledger(str(tmp_path))) as ledger:
        assert ledger.counts()[MessageState.RUNNING] == 60


def test_of_eight_processes_all_see_one_binding(tmp_path):
    said = all_at_once(8, "bind", tmp_path, 30, "d")
    assert said == [["d"] * 30] * 8


def test_threads_of_one_process(ledger):
    got = []

    def work():
        got.extend(n for n in range(50) if begin(ledger, f"m{n}") is None)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(50))


def test_an_approval_is_for_what_was_recorded(ledger):
    """LD-A13"""
    assert ledger.bind_all("m", {"before": ""}, "d1") == {"before": "d1"}  # it stood there first
    assert ledger.bind_all("m", {"before": "", "seen": ""}, "d1")["seen"] == "d1"
    # It was changed, and an approval came meanwhile: that is for what was there before.
    changed = ledger.bind_all("m", {"before": "", "seen": "", "late": ""}, "d2")
    assert changed == dict.fromkeys(("before", "seen", "late"), "d1")
    assert ledger.digest_of("m") == "d2"
    assert ledger.bind_all("m", {"late": "", "new": ""}, "d2") == {"late": "d1", "new": "d2"}
    # One that names its digest is for that, whatever was seen.
    assert ledger.bind_all("m", {"named": "d9"}, "d2") == {"named": "d9"}
    assert ledger.bound_digest("named") == "d9"
    assert ledger.bound_digest("unknown") is None


SIGHTS = st.lists(
    st.tuples(
        st.sampled_from(["m1", "m2"]),
        st.sampled_from(["d1", "d2", "d3"]),
        st.dictionaries(st.integers(0, 4), st.sampled_from(["", "", "d1", "d9"])),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(SIGHTS)
def test_the_rule_of_bindings(tmp_path_factory, sights):
    """What a plain reading of the rule gives: first sight binds, and never to a later digest."""
    root = tmp_path_factory.mktemp("root")
    last, bound = {}, {}
    with closing(Ledger(str(root))) as ledger:
        for msg_id, digest, found in sights:
            sources = {f"{msg_id}/{n}": named for n, named in found.items()}
            got = ledger.bind_all(msg_id, sources, digest)
            for source, named in sources.items():
                bound.setdefault(source, named or last.get(msg_id, digest))
            last[msg_id] = digest
            assert got == {source: bound[source] for source in sources}
            assert ledger.digest_of(msg_id) == digest
            assert all(ledger.bound_digest(source) == to for source, to in bound.items())
