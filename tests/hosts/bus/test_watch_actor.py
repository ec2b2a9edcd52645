"""Who may have changed a file: marks of editors, processes at work."""

import shutil
import subprocess
import time
from itertools import count

import pytest
from watching import Told, write

from bylaw.hosts.bus.watcher.actor import MAX_READ_S, READ_EVERY_S, ActorHints
from bylaw.model.vocabulary import ActorHint
from counting import steps_of


@pytest.fixture
def root(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    return root


def hints(root):
    """Hints whose time stands still, so that reading never takes too long."""
    return ActorHints(str(root), lambda: READ_EVERY_S)


def program(folder, name):
    """A process of that name that works in a folder until its input ends."""
    place = folder.parent / name
    shutil.copy(shutil.which("cat"), place)
    return subprocess.Popen([place], cwd=folder, stdin=subprocess.PIPE)


def test_the_six_actors():
    """[LD-014]"""
    assert {"antigravity", "cursor", "claude", "vscode", "human", "unknown"} == set(ActorHint)


def test_without_a_sign_it_is_unknown(root):
    """[LD-015]"""
    assert hints(root).guess(["a", "src/b"]) == {"a": "unknown", "src/b": "unknown"}
    assert hints(root).guess([]) == {}


@pytest.mark.parametrize("mark", ["src/.a.swp", "src/.#a", "src/.~lock.a#"])
def test_an_editor_for_people_leaves_a_mark(root, mark):
    write(root, mark)
    assert hints(root).guess(["src/a", "src/b"]) == {"src/a": "human", "src/b": "unknown"}


@pytest.mark.parametrize(
    ("name", "actor"),
    [
        ("claude", "claude"),
        ("cursor", "cursor"),
        ("code", "vscode"),
        ("antigravity", "antigravity"),
    ],
)
def test_the_only_program_at_work(root, name, actor):
    with program(root, name) as process:
        try:
            assert soon(root, "a") == actor
        finally:
            process.stdin.close()
    assert hints(root).guess(["a"]) == {"a": "unknown"}


def soon(root, path):
    """The guess, when a process has begun."""
    deadline = time.monotonic() + 300
    while (found := hints(root).guess([path])[path]) == "unknown" and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def test_two_programs_at_work_are_nobody(root):
    with program(root, "claude") as one:
        assert soon(root, "a") == "claude"
        with program(root, "cursor") as two:
            deadline = time.monotonic() + 300
            while hints(root).guess(["a"]) != {"a": "unknown"}:
                assert time.monotonic() < deadline
            two.stdin.close()
        one.stdin.close()


def test_a_program_at_work_elsewhere_is_nobody(root):
    elsewhere = root.parent / "root-two"
    elsewhere.mkdir()
    with program(elsewhere, "claude") as process:
        time.sleep(0.1)
        assert hints(root).guess(["a"]) == {"a": "unknown"}
        process.stdin.close()


def test_a_change_has_an_actor(root):
    with Told(root) as told:
        write(root, "a")
        write(root, ".a.swp")
        told.note("a", ".a.swp")
        told.now += 0.1
        assert [c.actor for c in told.watcher.due() if c.path == "a"] == ["human"]


def test_a_guess_takes_a_moment_only(root):
    """Reading ends at the limit, and many paths do not make it longer."""
    found = ActorHints(str(root), count(READ_EVERY_S, MAX_READ_S / 4).__next__)
    paths = [f"src/{number}" for number in range(5_000)]

    assert steps_of(lambda: found.guess(paths)) < 2_000
