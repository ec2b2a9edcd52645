"""A system that fails under the queue: it is told in plain words, and no entry is lost for it."""

import os
import resource
import shutil
from contextlib import contextmanager
from errno import EACCES, EIO, ENOSPC

import pytest
from queueing import FAILED, HASH, PASSED, QUEUED, step
from stopping import World

from bylaw.model.errors import BylawError
from bylaw.model.event import AgentStop
from bylaw.model.vocabulary import EffectStatus, Verdict
from bylaw.worktree import queue as module

QUEUE = ".deepwork/tmp/policy/queue"


@contextmanager
def no_more_files():
    """The table of descriptors of this process is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.open("/", os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def failing(errno):
    def fail(*_, **__):
        raise OSError(errno, os.strerror(errno))

    return fail


class TestReading:
    @pytest.mark.parametrize(
        "look", [lambda queue: queue.find(HASH), lambda queue: queue.all_entries()]
    )
    def test_a_file_that_cannot_be_opened_is_not_corrupt(self, folder, look):
        folder.write()
        with no_more_files(), pytest.raises(BylawError, match=f"cannot use `{QUEUE}`: Too many"):
            look(folder.queue)

        assert folder.notes == []
        assert folder.queue.find(HASH).status is QUEUED

    def test_what_a_dead_process_left_is_not_lost(self, folder, monkeypatch):
        """Its name is changed, its content lies beside it, and that cannot be opened."""
        folder.write()
        folder.write(FAILED)
        failed = folder.path / f"{HASH}.failed.json"
        failed.rename(folder.path / f"{HASH}.failed.json.new")
        folder.write()
        (folder.path / f"{HASH}.queued.json").rename(failed)

        def open_one(name, **more):
            return failing(EIO)() if name.endswith(".new") else opened(name, **more)

        opened = module.open_regular
        with monkeypatch.context() as patched:
            patched.setattr(module, "open_regular", open_one)
            with pytest.raises(BylawError, match="Input/output error"):
                folder.queue.find(HASH)

        assert folder.queue.find(HASH).status is FAILED

    def test_a_file_is_read_once(self, folder, monkeypatch):
        for number in range(5):
            folder.write(policy="b", files=(str(number),))
        read, read_at_most = [], module.read_at_most
        monkeypatch.setattr(
            module, "read_at_most", lambda *args: read.append(args) or read_at_most(*args)
        )

        assert len(folder.queue.all_entries()) == 5
        assert len(read) == 5


class TestWriting:
    def test_a_full_disk(self, folder, monkeypatch):
        monkeypatch.setattr(os, "fsync", failing(ENOSPC))
        with pytest.raises(BylawError, match=f"cannot use `{QUEUE}`: No space left on device"):
            folder.write()

    def test_the_record_says_it_plainly(self, tmp_path, monkeypatch):
        world = World(tmp_path)
        world.policy("readme", "trigger: '**/*.py'", "Look.")
        world.repository.write("a.py", "a\n")
        monkeypatch.setattr(os, "fsync", failing(ENOSPC))
        world.stop()

        failed = [one for one in world.effects if one.status is EffectStatus.FAILED]
        assert [one.result["error"] for one in failed] == [
            f"cannot use `{QUEUE}`: No space left on device"
        ]

    def test_a_lock_that_cannot_be_made_is_told_plainly(self, tmp_path, monkeypatch):
        world = World(tmp_path).command("sh:true")
        world.repository.write("a.py", "a\n")
        monkeypatch.setattr("bylaw.store.state_folder.hold_lock", failing(ENOSPC))
        stop = world.stop()

        said = [one.result["error"] for one in world.effects if "error" in (one.result or {})]
        why = "cannot use `.bylaw/state`: No space left on device"
        assert said[0] == why
        # Nobody knows whether the policy holds, so the stop is refused.
        assert stop.verdict is Verdict.DENY
        told = f"tidy: the command could not run and will be tried again: {why}"
        assert [one.text for one in stop.decision.reasons] == [told]
        assert world.held()["status"] == "queued"
        monkeypatch.undo()
        assert world.stop().verdict is Verdict.ALLOW
        assert world.held()["status"] == "passed"

    def test_what_cannot_be_removed_is_told(self, folder, monkeypatch):
        folder.write()
        monkeypatch.setattr(os, "unlink", failing(EACCES))
        with pytest.raises(BylawError, match="permission denied"):
            folder.queue.remove(HASH)


class TestTakingBack:
    """What was let through at a stop is let through, whatever becomes of the queue."""

    @pytest.fixture
    def world(self, tmp_path):
        made = World(tmp_path).policy("readme", "trigger: '**/*.py'", "Look.")
        made.repository.write("a.py", "a\n")
        return made

    def test_a_queue_that_cannot_be_written(self, world, monkeypatch):
        with world.open() as (host, loop):
            [answer] = loop.take([AgentStop(session="s")])
            monkeypatch.setattr(os, "fsync", failing(ENOSPC))
            host.take_back(answer, {answer.deciding.reasons[0].uid})

        assert world.notes[-1] == (
            "`readme` is recorded as shown, but was not: "
            f"cannot use `{QUEUE}`: No space left on device"
        )

    def test_a_queue_that_goes_meanwhile(self, folder, monkeypatch):
        shown = folder.write(shown=1)
        put = module._replace_file

        def put_too_late(*args):
            shutil.rmtree(folder.path)
            put(*args)

        monkeypatch.setattr(module, "_replace_file", put_too_late)
        folder.queue.take_back(step(shown=shown.shown))

        assert folder.names == []

    def test_one_showing_less(self, folder):
        folder.write(shown=1)
        folder.queue.take_back(step(shown=1))

        assert folder.queue.find(HASH).shown == 0
        assert folder.write(PASSED).status is PASSED
