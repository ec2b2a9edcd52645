"""Named locks, with real processes: killed owners, races, forged files."""

import json
import os
import random
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE

import pytest
from lock_takers import taken

from bylaw.model.errors import BylawError
from bylaw.store.locks import MAX_KEY, Lock, LockRefusal, LockRefusalReason, Locks
from bylaw.store.system import process_info

USER = [sys.executable, str(Path(__file__).parent / "lock_user.py")]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "locks"


@contextmanager
def user(what, folder, *words):
    process = subprocess.Popen(
        [*USER, what, str(folder), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def file_of(folder, key="lint"):
    return folder / f"{key}.lock"


def forge(folder, key="lint", **changes):
    """A lock of this very process, with some things said otherwise."""
    lock = Locks(str(folder)).acquire(key)
    assert isinstance(lock, Lock)
    said = json.loads(file_of(folder, key).read_text()) | changes
    file_of(folder, key).write_text(json.dumps(said))
    return said


def test_taken_and_given_back(folder):
    locks = Locks(str(folder))
    lock = locks.acquire("lint", rule="law:rules.yaml#lint", msg_id="20240116_120000_cursor_fix")

    assert isinstance(lock, Lock)
    said = json.loads(file_of(folder).read_text())
    assert said.items() >= {
        "owner": lock.token, "pid": os.getpid(), "started": process_info(os.getpid()).started,
        "host": os.uname().nodename, "rule": "law:rules.yaml#lint", "msg_id": "20240116_120000_cursor_fix",
    }.items()  # fmt: skip
    assert S_IMODE(file_of(folder).stat().st_mode) == 0o600
    assert locks.release(lock)
    assert not file_of(folder).exists()
    assert not locks.release(lock)
    assert {path.name for path in folder.iterdir()} == {"guard"}


def test_a_living_owner_keeps_it(folder):
    locks = Locks(str(folder))
    lock = locks.acquire("lint", rule="r1")
    again = locks.acquire("lint")

    assert isinstance(again, LockRefusal)
    assert (again.by, again.owner.owner) == (LockRefusalReason.RUNNING, lock.token)
    assert again.why == f"process {os.getpid()} of r1 holds it"
    assert isinstance(locks.acquire("other"), Lock)


def test_only_its_owner_gives_it_back(folder):
    locks = Locks(str(folder))
    lock = locks.acquire("lint")

    assert not locks.release(Lock("lint", "another token"))
    assert file_of(folder).exists()
    assert locks.release(lock)


def test_it_can_be_had_when_it_is_given_back(folder):
    with user("rounds", folder, "lint", "20") as other:
        assert isinstance(taken(Locks(str(folder)), "lint", 60), Lock)
        assert other.poll() is None or other.returncode == 0


@pytest.mark.parametrize("waited_for", [True, False])
def test_a_killed_owner_loses_it(folder, waited_for):
    locks = Locks(str(folder))
    with user("hold", folder, "lint") as owner:
        assert owner.stdout.readline() == "Lock\n"
        assert locks.acquire("lint").by is LockRefusalReason.RUNNING
        owner.kill()
        if waited_for:
            owner.wait()
        else:  # it has ended, and nobody has asked how
            wait_until(lambda: process_info(owner.pid).ended)
        lock = locks.acquire("lint")

    assert isinstance(lock, Lock)
    assert lock.taken_from.pid == owner.pid
    assert (lock.taken_from.rule, lock.taken_from.msg_id) == ("lines:a.lines#line-1", "m1")
    assert json.loads(file_of(folder).read_text())["owner"] == lock.token


def test_a_stopped_owner_keeps_it(folder):
    with user("hold", folder, "lint") as owner:
        owner.stdout.readline()
        owner.send_signal(19)  # SIGSTOP

        assert Locks(str(folder)).acquire("lint").by is LockRefusalReason.RUNNING


def wait_until(true):
    until = time.monotonic() + 300
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_the_number_of_a_process_that_is_used_again(folder):
    said = forge(folder, started=process_info(os.getpid()).started - 1)
    lock = Locks(str(folder)).acquire("lint")

    assert isinstance(lock, Lock)
    assert lock.taken_from.owner == said["owner"]


def test_the_system_was_started_again(folder):
    forge(folder, boot="00000000-0000-0000-0000-000000000000")

    assert isinstance(Locks(str(folder)).acquire("lint"), Lock)


@pytest.mark.parametrize(
    ("changes", "by"),
    [
        ({"host": "elsewhere"}, LockRefusalReason.ANOTHER_HOST),
        ({"host": "elsewhere", "started": 1}, LockRefusalReason.ANOTHER_HOST),
        ({"host": "elsewhere", "boot": "another"}, LockRefusalReason.ANOTHER_HOST),
        ({"space": "pid:[1]"}, LockRefusalReason.UNCERTAIN),
        ({"space": "pid:[1]", "started": 1}, LockRefusalReason.UNCERTAIN),
    ],
)
def test_who_cannot_be_asked_keeps_it(folder, changes, by):
    said = forge(folder, **changes)
    held = Locks(str(folder)).acquire("lint")

    assert isinstance(held, LockRefusal)
    assert (held.by, held.owner.owner) == (by, said["owner"])
    assert json.loads(file_of(folder).read_text()) == said


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "\0", "{}", '{"owner": "x"}', "a" * 100_000,
        '{"owner":"x","pid":-1,"started":1,"host":"h","boot":"b","space":"s"}',
        '{"owner":"x","pid":0,"started":1,"host":"h","boot":"b","space":"s"}',
        '{"owner":"x","pid":"1","started":1,"host":"h","boot":"b","space":"s"}',
        '{"owner":"","pid":1,"started":1,"host":"h","boot":"b","space":"s"}',
        '{"owner":"x","pid":1,"started":1,"host":"h","boot":"b","space":"s","more":1}',
        '{"owner":"x","pid":99999999999999999999,"started":1,"host":"h","boot":"b","space":"s"}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_lock_is_told_and_left(folder, text):
    folder.mkdir()
    file_of(folder).write_text(text)
    locks = Locks(str(folder))
    held = locks.acquire("lint")

    assert (held.by, held.owner) == (LockRefusalReason.BROKEN, None)
    assert "`lint.lock` is not a valid lock file" in held.why
    assert not locks.release(Lock("lint", "x"))
    assert file_of(folder).read_text() == text


def test_links_and_folders_are_no_locks(folder, tmp_path):
    folder.mkdir()
    (tmp_path / "target").write_text("precious")
    file_of(folder, "link").symlink_to(tmp_path / "target")
    file_of(folder, "folder").mkdir()
    os.mkfifo(file_of(folder, "pipe"))

    for key in ("link", "folder", "pipe"):
        assert Locks(str(folder)).acquire(key).by is LockRefusalReason.BROKEN
    assert (tmp_path / "target").read_text() == "precious"


def test_a_link_in_place_of_the_folder(folder, tmp_path):
    folder.symlink_to(tmp_path)

    with pytest.raises(BylawError, match="cannot use locks in"):
        Locks(str(folder)).acquire("lint")
    assert not file_of(tmp_path).exists()


@pytest.mark.parametrize("key", ["lint", "a.b-c_D9", ".", "..", "...", "guard", "-", "x" * MAX_KEY])
def test_keys(folder, key):
    assert isinstance(Locks(str(folder)).acquire(key), Lock)
    assert file_of(folder, key).is_file()


@pytest.mark.parametrize(
    "key", ["", "a/b", "../../x", "a b", "é", "a\n", "a\0", "~", "x" * (MAX_KEY + 1)]
)
def test_what_cannot_be_a_key(folder, key):
    with pytest.raises(BylawError, match="invalid lock key"):
        Locks(str(folder)).acquire(key)
    assert not folder.exists()


def test_words_that_are_no_text(folder):
    lock = Locks(str(folder)).acquire("lint", rule="lines:\udcff\x1b[2J" + "x" * 5000)

    assert isinstance(lock, Lock)
    assert Locks(str(folder)).acquire("lint").owner.rule.startswith("lines:\\u{dcff}\\u{1b}[2J")


def test_of_all_that_find_a_dead_owner_one_takes_its_place(folder):
    for _ in range(8):
        said = forge(folder, started=1)
        with user("race", folder, "lint") as a, user("race", folder, "lint") as b, \
                user("race", folder, "lint") as c, user("race", folder, "lint") as d:  # fmt: skip
            racers = (a, b, c, d)
            for racer in racers:
                racer.stdout.readline()
            for racer in racers:
                racer.stdin.write("\n")
                racer.stdin.flush()
            told = [racer.stdout.readline() for racer in racers]
            now = json.loads(file_of(folder).read_text())

        assert sorted(told) == ["Lock\n", "LockRefusal\n", "LockRefusal\n", "LockRefusal\n"]
        assert now["owner"] != said["owner"]
        file_of(folder).unlink()


def test_never_two_inside(folder, tmp_path):
    users = [
        subprocess.Popen([*USER, "rounds", str(folder), "lint", "200"], stderr=subprocess.PIPE)
        for _ in range(8)
    ]
    errors = [one.communicate(timeout=300)[1] for one in users]

    assert errors == [b""] * 8
    assert (tmp_path / "locks.count").read_text() == "1600"
    assert {path.name for path in folder.iterdir()} == {"guard"}


def test_never_two_inside_while_some_are_killed(folder):
    chance = random.Random(7)
    start = [*USER, "rounds", str(folder), "lint", "100000"]
    users = [subprocess.Popen(start, stderr=subprocess.PIPE) for _ in range(4)]
    try:
        time.sleep(1)
        for _ in range(25):
            time.sleep(chance.uniform(0, 0.1))
            victim = users.pop(chance.randrange(4))
            victim.kill()
            assert victim.communicate()[1] == b""
            users.append(subprocess.Popen(start, stderr=subprocess.PIPE))
    finally:
        for one in users:
            one.kill()
        errors = [one.communicate()[1] for one in users]

    assert errors == [b""] * 4
    assert isinstance(Locks(str(folder)).acquire("lint"), Lock)
    assert {path.name for path in folder.iterdir()} <= {"guard", "lint.lock"}
