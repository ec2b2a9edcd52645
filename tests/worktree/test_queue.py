"""Entries as files: names, schema, life, rights."""

import json
import os
import shutil
import sys

import pytest
from queueing import FAILED, HASH, NOON, NOTHING, PASSED, QUEUED, SKIPPED, Folder, step

from bylaw.model.errors import BylawError
from bylaw.worktree.entry import ActionResult
from bylaw.worktree.queue import Queue


class TestAFile:
    def test_a_new_entry(self, folder):
        """DW-054, DW-055, DW-061…DW-070, DW-A14"""
        entry = folder.write()

        assert folder.names == [f"{HASH}.queued.json"]
        assert folder.held(f"{HASH}.queued.json") == {
            "policy_name": "readme-accuracy",
            "trigger_hash": HASH,
            "status": "queued",
            "created_at": "2024-01-16T12:00:00.000Z",
            "evaluated_at": None,
            "baseline_ref": "abc123",
            "trigger_files": ["src/main.py"],
            "expected_files": [],
            "matched_files": [],
            "action_result": {"type": "prompt", "output": None, "exit_code": None},
            "content_digest": "one",
            "shown": 0,
        }
        assert folder.queue.find(HASH) == entry

    def test_an_evaluated_one_has_another_name_and_no_second_file(self, folder):
        """DW-059, DW-060, DW-063, DW-065, DW-071"""
        folder.write()
        result = ActionResult(
            type="command", command="ruff format {file}", exit_code=1, output="", stderr="no",
            argv=("ruff", "format", "src/main.py"),
        )  # fmt: skip
        folder.write(FAILED, result=result, now=NOON + 1000)

        assert folder.names == [f"{HASH}.failed.json"]
        held = folder.held(f"{HASH}.failed.json")
        assert held["created_at"] == "2024-01-16T12:00:00.000Z"
        assert held["evaluated_at"] == "2024-01-16T12:00:01.000Z"
        assert held["action_result"]["stderr"] == "no"

    def test_a_step_without_files_keeps_the_lists(self, folder):
        folder.write(expected_files=("README.md",), matched_files=("README.md",))
        bare = step(SKIPPED, digest="")
        folder.queue.write(
            type(bare)(hash=bare.hash, status=bare.status, policy=bare.policy, baseline=""),
            NOTHING,
            NOON,
        )

        held = folder.held(f"{HASH}.skipped.json")
        assert held["trigger_files"] == ["src/main.py"]
        assert held["expected_files"] == held["matched_files"] == ["README.md"]
        assert (held["baseline_ref"], held["content_digest"]) == ("abc123", "one")

    def test_what_cannot_be_an_entry_is_not_written(self, folder):
        other = step()
        wrong = type(other)(
            hash=HASH, status=QUEUED, policy="other", baseline="x", trigger_files=("a",)
        )
        with pytest.raises(ValueError, match="its hash does not match"):
            folder.queue.write(wrong, NOTHING, NOON)
        with pytest.raises(ValueError, match="is not a hash"):
            folder.queue.write(
                type(other)(hash="../x", status=QUEUED, policy="p", baseline="b"), NOTHING, NOON
            )
        assert not [name for name in folder.names if name.endswith(".json")]


class TestALife:
    """DW-059, DW-A17, DW-A19, DW-A44"""

    @pytest.mark.parametrize("first", [QUEUED, SKIPPED])
    def test_it_begins_queued_or_skipped(self, folder, first):
        assert folder.write(first).status is first

    @pytest.mark.parametrize("first", [PASSED, FAILED])
    def test_what_was_never_queued_was_not_evaluated(self, folder, first):
        """DW-056, DW-057"""
        assert folder.write(first) is None
        assert folder.names == []

    @pytest.mark.parametrize("closed", [PASSED, FAILED, SKIPPED])
    def test_it_is_closed_once(self, folder, closed):
        folder.write()
        assert folder.write(closed).status is closed
        for status in (QUEUED, PASSED, FAILED):
            assert folder.write(status) is None
        assert folder.names == [f"{HASH}.{closed}.json"]

    @pytest.mark.parametrize("closed", [PASSED, FAILED, SKIPPED])
    def test_other_content_begins_a_new_life(self, folder, closed):
        folder.write()
        folder.write(closed, shown=3)
        new = folder.write(digest="two", now=NOON + 5000)

        assert folder.names == [f"{HASH}.queued.json"]
        assert (new.created_at, new.evaluated_at) == ("2024-01-16T12:00:05.000Z", None)
        assert (new.content_digest, new.shown) == ("two", 0)

    def test_the_digest_of_an_entry_that_waits_opens_nothing(self, folder):
        folder.write(shown=1)
        assert folder.write(digest="two", shown=1) is None
        assert folder.write(digest="two", shown=2).shown == 2

    def test_a_failed_one_is_acknowledged(self, folder):
        folder.write()
        folder.write(FAILED)
        assert folder.write(SKIPPED).status is SKIPPED
        assert folder.names == [f"{HASH}.skipped.json"]

    def test_whoever_decided_on_another_state_does_nothing(self, folder):
        waits = (QUEUED, "one", 0)
        assert folder.write(known=[waits]) is None
        assert folder.write(known=[None]).state == waits
        assert folder.write(known=[None]) is None
        assert folder.write(PASSED, known=[None]) is None
        assert folder.write(PASSED, known=[None, waits]).status is PASSED


class TestLookingUp:
    def test_no_queue_no_entry(self, folder):
        assert folder.queue.find(HASH) is None
        assert folder.queue.find("../../x") is None
        assert folder.queue.open_entries() == []
        assert folder.queue.all_entries() == []
        assert not folder.path.exists()

    def test_open_ones(self, folder):
        folder.write(policy="a", files=("1",))
        folder.write(policy="a", files=("2",))
        folder.write(FAILED, policy="a", files=("2",))
        folder.write(SKIPPED, policy="a", files=("3",))
        folder.write(policy="b", files=("4",))

        found = folder.queue.open_entries()
        assert {(one.policy_name, *one.trigger_files): one.status for one in found} == {
            ("a", "1"): QUEUED,
            ("a", "2"): FAILED,
            ("b", "4"): QUEUED,
        }
        assert folder.queue.counts() == {QUEUED: 2, PASSED: 0, FAILED: 1, SKIPPED: 1}
        assert len(folder.queue.all_entries()) == 4

    def test_what_others_write_is_seen(self, folder):
        other = Folder(folder.root)
        for number in range(50):
            other.write(policy="a", files=(str(number),))
            assert len(folder.queue.open_entries()) == number + 1
        other.queue.remove(step(policy="a", files=("7",)).hash)
        assert len(folder.queue.open_entries()) == 49

    def test_ten_thousand_others_are_not_looked_at(self, folder, monkeypatch):
        """DW-074"""
        folder.write()
        one = json.dumps(folder.held(f"{HASH}.queued.json"))
        for number in range(10_000):
            (folder.path / f"{number:012x}.passed.json").write_text(one)
        read = []
        monkeypatch.setattr(
            "bylaw.worktree.queue.read_at_most", lambda *args: read.append(args) or b""
        )
        monkeypatch.setattr(os, "listdir", lambda _: pytest.fail("it was listed"))
        folder.queue.find(HASH)
        assert len(read) == 1


class TestResetting:
    def test_the_folder_may_go_at_any_time(self, folder):
        """DW-072"""
        folder.write()
        shutil.rmtree(folder.root / ".deepwork/tmp")
        assert folder.queue.find(HASH) is None
        assert folder.write(PASSED) is None
        assert folder.write().status is QUEUED

    def test_closed_ones_stay(self, folder):
        """DW-073"""
        folder.write(SKIPPED)
        for number in range(100):
            folder.write(policy="b", files=(str(number),))
        assert folder.queue.find(HASH).status is SKIPPED


class TestRights:
    @pytest.mark.parametrize("umask", [0, 0o022, 0o077, 0o777])
    def test_they_are_the_owner_s_alone_under_any_umask(self, folder, umask):
        """DW-133, DW-134"""
        before = os.umask(umask)
        try:
            folder.write()
            folder.write(PASSED)
        finally:
            os.umask(before)
        assert folder.path.stat().st_mode & 0o777 == 0o700
        assert [one.stat().st_mode & 0o777 for one in folder.path.iterdir()] == [0o600]

    @pytest.mark.parametrize("umask", [0, 0o022])
    def test_not_even_for_a_moment_are_they_anybody_else_s(self, folder, umask):
        """DW-134: looked at before and after each function that is called, also those of C."""
        folder.write(policy="other")
        seen = {}

        def look(_frame, _what, _function):
            for one in os.scandir(folder.path):
                seen.setdefault(one.name.removeprefix(HASH), set()).add(one.stat().st_mode & 0o777)

        before = os.umask(umask)
        sys.setprofile(look)
        try:
            folder.write()
            folder.write(PASSED)
        finally:
            sys.setprofile(None)
            os.umask(before)
        assert {".queued.json", ".passed.json"} < seen.keys()
        assert len(seen) > 3, "files that are being written were seen, too"
        assert set().union(*seen.values()) == {0o600}

    @pytest.mark.parametrize("status", [QUEUED, PASSED])
    @pytest.mark.parametrize("mode", [0o604, 0o640, 0o644, 0o777])
    @pytest.mark.parametrize("look", [lambda q: q.find(HASH), lambda q: q.all_entries()])
    def test_wrong_ones_are_corrected_and_told(self, folder, status, mode, look):
        """DW-A45"""
        folder.write()
        folder.write(status)
        file = folder.path / f"{HASH}.{status}.json"
        folder.path.chmod(mode | 0o111)
        file.chmod(mode)

        assert look(folder.queue)
        assert folder.path.stat().st_mode & 0o777 == 0o700
        assert file.stat().st_mode & 0o777 == 0o600
        where = ".deepwork/tmp/policy/queue"
        assert folder.notes == [
            f"`{where}` was open to other users (mode {mode | 0o111:o}); this was corrected",
            f"`{where}/{file.name}` had mode {mode:o}; this was corrected",
        ]

    def test_one_that_is_not_looked_at_is_corrected_when_it_is_replaced(self, folder):
        folder.write()
        (folder.path / f"{HASH}.queued.json").chmod(0o777)
        folder.write(PASSED)
        assert [one.stat().st_mode & 0o777 for one in folder.path.iterdir()] == [0o600]

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
    @pytest.mark.parametrize("what", ["", f"{HASH}.queued.json"])
    def test_another_owner_is_an_error(self, folder, what):
        folder.write()
        os.chown(folder.path / what, 12345, 12345)
        with pytest.raises(BylawError, match="belongs to another user"):
            folder.queue.find(HASH)


CHANGES = {
    "no JSON": lambda held: "{",
    "nothing": lambda held: "",
    "another JSON": lambda held: "[]",
    "another hash": lambda held: {**held, "trigger_hash": "0" * 12},
    "another status": lambda held: {**held, "status": "passed"},
    "an unknown status": lambda held: {**held, "status": "broken"},
    "an epoch": lambda held: {**held, "created_at": 1705406400},
    "no time": lambda held: {**held, "created_at": "noon"},
    "a missing time": lambda held: {k: v for k, v in held.items() if k != "evaluated_at"},
    "another baseline": lambda held: {**held, "baseline_ref": "other"},
    "an absolute path": lambda held: {**held, "trigger_files": ["/etc/passwd"]},
    "missing lists": lambda held: {k: v for k, v in held.items() if k != "matched_files"},
    "a strange result": lambda held: {**held, "action_result": {"type": "shell"}},
    "no result": lambda held: {**held, "action_result": None},
    "evaluated but queued": lambda held: {**held, "evaluated_at": held["created_at"]},
    "half a character": lambda held: '{"policy_name": "\\ud800"}',
    "very deep": lambda held: "[" * 100_000,
}


class TestCorruption:
    """DW-062, DW-063, DW-066, DW-128"""

    def test_another_key_makes_no_other_entry(self, folder):
        """A later version may write more."""
        folder.write()
        name = f"{HASH}.queued.json"
        held = folder.held(name)
        result = {**held["action_result"], "more": 1}
        (folder.path / name).write_text(json.dumps({**held, "action_result": result, "more": 1}))

        assert folder.queue.find(HASH).policy_name == held["policy_name"]
        assert (folder.path / name).exists()

    @pytest.mark.parametrize("how", CHANGES)
    def test_it_is_told_removed_and_made_anew(self, folder, how):
        folder.write()
        name = f"{HASH}.queued.json"
        changed = CHANGES[how](folder.held(name))
        text = changed if isinstance(changed, str) else json.dumps(changed)
        (folder.path / name).write_text(text)

        assert folder.queue.find(HASH) is None
        assert folder.names == []
        [note] = folder.notes
        assert note.startswith(f"`.deepwork/tmp/policy/queue/{name}` was corrupt and was removed: ")
        assert folder.write().status is QUEUED

    def test_bytes_that_are_no_text(self, folder):
        folder.write()
        (folder.path / f"{HASH}.queued.json").write_bytes(b'{"policy_name": "\xff"}')
        assert folder.queue.find(HASH) is None
        assert len(folder.notes) == 1

    @pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
    def test_what_is_no_file(self, folder, kind, tmp_path):
        folder.write(SKIPPED, policy="b")
        path = folder.path / f"{HASH}.queued.json"
        kept = tmp_path / "kept"
        kept.write_text("{}")
        if kind == "link":
            path.symlink_to(kept)
        elif kind == "folder":
            (path / "more").mkdir(parents=True)
        else:
            os.mkfifo(path)

        assert folder.queue.open_entries() == []
        assert folder.write().status is QUEUED
        assert len(folder.notes) == 1
        assert kept.read_text() == "{}"

    def test_two_states_at_once_are_none(self, folder):
        """DW-060"""
        folder.write()
        held = folder.held(f"{HASH}.queued.json")
        held |= {"status": "passed", "evaluated_at": held["created_at"]}
        (folder.path / f"{HASH}.passed.json").write_text(json.dumps(held))

        assert folder.queue.find(HASH) is None
        assert folder.names == []
        assert len(folder.notes) == 3  # one of them was open to others

    def test_other_files_are_left_alone(self, folder):
        folder.write()
        (folder.path / "notes.txt").write_text("mine")
        folder.queue.all_entries()
        assert "notes.txt" in folder.names


class TestADeadProcess:
    """DW-079, DW-A43"""

    def die(self, folder, monkeypatch, after):
        """Begin to pass the entry, and die after so many renames."""
        done = []

        def rename(*args):
            if len(done) == after:
                raise KeyboardInterrupt
            done.append(args)
            os.rename(args[1], args[2], src_dir_fd=args[0], dst_dir_fd=args[0])

        with monkeypatch.context() as patched:
            patched.setattr("bylaw.worktree.queue.rename", rename)
            with pytest.raises(KeyboardInterrupt):
                folder.write(PASSED)

    def test_before_the_first_name_changed(self, folder, monkeypatch):
        folder.write()
        self.die(folder, monkeypatch, 0)

        assert Folder(folder.root).queue.find(HASH).status is QUEUED
        assert folder.queue.open_entries()
        assert folder.names == [f"{HASH}.queued.json"]
        assert folder.notes == []

    @pytest.mark.parametrize("looking", [lambda q: q.find(HASH), lambda q: q.all_entries()[0]])
    def test_between_name_and_content(self, folder, monkeypatch, looking):
        folder.write()
        self.die(folder, monkeypatch, 1)
        assert folder.held(f"{HASH}.passed.json")["status"] == "queued"

        assert looking(Queue(str(folder.root), folder.notes.append)).status is PASSED
        assert folder.names == [f"{HASH}.passed.json"]
        assert folder.notes == []
