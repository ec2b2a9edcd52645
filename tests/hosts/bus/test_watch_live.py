"""A real folder, really watched: bursts, new folders, what makes the watch fail."""

import os
import shutil
import subprocess
import sys

import pytest
from watching import STORE, Woken, write

from bylaw.hosts.bus.watcher import folder_watch

MANY = 5_000
# As a person would do it: quickly, and all in one go.
BURST = """
import os, sys
root, what, many = sys.argv[1], sys.argv[2], int(sys.argv[3])
for number in range(many):
    folder = f"{root}/src/{number % 50}"
    path = f"{folder}/{number}"
    if what == "create":
        os.makedirs(folder, exist_ok=True)
        open(path, "w").close()
    elif what == "modify":
        with open(path, "a") as stream:
            stream.write("more")
    elif what == "rename":
        os.rename(path, f"{path}.new")
    else:
        os.unlink(f"{path}.new")
"""


def paths(ending=""):
    return {f"src/{number % 50}/{number}{ending}" for number in range(MANY)}


@pytest.fixture
def woken(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    with Woken(root) as woken:
        woken.root = root
        yield woken


def burst(woken, what):
    """What is told while another process does something to many files, and then nothing more."""
    command = [sys.executable, "-c", BURST, str(woken.root), what, str(MANY)]
    with subprocess.Popen(command) as process:
        assert woken.until(lambda: process.poll() is not None)
    assert process.returncode == 0
    told = woken.quiet(0.5)
    return told + woken.quiet(2.5)


def test_bursts_of_many_files_lose_nothing(woken):
    created = burst(woken, "create")
    assert {change[-1] for change in created if change[0] == "created"} == paths()
    # A file that was looked at while it was made may be told of twice, never less.
    assert {change[0] for change in created} <= {"created", "modified"}
    modified = burst(woken, "modify")
    assert {change[-1] for change in modified} == paths()
    assert {change[0] for change in modified} == {"modified"}
    renamed = burst(woken, "rename")
    assert sorted(renamed) == sorted(("renamed", path, f"{path}.new") for path in paths())
    deleted = burst(woken, "delete")
    assert sorted(deleted) == sorted(("deleted", path) for path in paths(".new"))


def test_files_in_folders_that_are_made_with_them(woken):
    for number in range(50):
        write(woken.root, f"new/{number}/deep/er/file")
    expected = {f"new/{number}/deep/er/file" for number in range(50)}
    assert {path for _, path in woken.quiet()} == expected
    write(woken.root, "new/7/deep/er/later")
    assert woken.quiet() == [("created", "new/7/deep/er/later")]


def test_a_folder_renamed_deep_down_is_watched_on(woken):
    write(woken.root, "one/two/three/a")
    woken.quiet()
    (woken.root / "one/two").rename(woken.root / "one/2")
    assert woken.quiet() == [("renamed", "one/two/three/a", "one/2/three/a")]
    write(woken.root, "one/2/three/a", "more")
    assert woken.quiet() == [("modified", "one/2/three/a")]
    (woken.root / "one").rename(woken.root / "eins")
    assert woken.quiet() == [("renamed", "one/2/three/a", "eins/2/three/a")]
    write(woken.root, "eins/2/three/b")
    assert woken.quiet() == [("created", "eins/2/three/b")]


def test_a_folder_that_is_made_anew_is_watched_on(woken):
    write(woken.root, "one/a")
    woken.quiet()
    shutil.rmtree(woken.root / "one")
    write(woken.root, "one/b")
    assert set(woken.quiet()) == {("deleted", "one/a"), ("created", "one/b")}
    write(woken.root, "one/c")
    assert woken.quiet() == [("created", "one/c")]


def test_a_tree_that_is_deleted_at_once(woken):
    for number in range(300):
        write(woken.root, f"one/{number % 20}/{number}")
    woken.quiet()
    shutil.rmtree(woken.root / "one")
    told = woken.quiet()
    assert {change[0] for change in told} == {"deleted"}
    assert len(told) == 300


def test_the_bus_wakes_nobody(woken):
    """[LD-A33]"""
    write(woken.root, "runtime/bus/input/a")
    woken.quiet()
    heard = []
    woken.hear = heard.append
    write(woken.root, "runtime/bus/input/b")
    (woken.root / STORE).touch()
    woken.quiet(marked=False)
    assert heard == []


def test_a_link_out_of_the_root_is_not_watched(woken):
    """[LD-012]"""
    secret = woken.root.parent / "secret"
    write(secret, "deep/a")
    write(woken.root, "src/deep/a")
    woken.quiet()
    (woken.root / "src/out").symlink_to(secret)
    assert woken.quiet() == []
    assert woken.watcher.outside == ["src/out"]
    write(secret, "deep/b")
    assert woken.quiet() == []
    inode = f"ino:{(secret / 'deep').stat().st_ino:x} "
    assert not any(inode in line for line in watches())
    write(woken.root, "src/deep/b")
    assert woken.quiet() == [("created", "src/deep/b")]


def watches():
    """What this process has the system watch."""
    for number in os.listdir("/proc/self/fd"):  # noqa: PTH208 - as the system has it
        try:
            if "inotify" in os.readlink(f"/proc/self/fd/{number}"):  # noqa: PTH115 - same
                with open(f"/proc/self/fdinfo/{number}") as stream:  # noqa: PTH123 - same
                    yield from stream
        except FileNotFoundError:
            pass


def test_a_name_that_is_no_text_does_not_make_it_deaf(woken):
    (woken.root / os.fsdecode(b"bad\xff")).touch()
    assert woken.until(lambda: len(woken.changes) == 1)
    assert woken.quiet() == [("created", "bad\\u{dcff}")]
    assert any("is restarted" in note for note in woken.notes)
    write(woken.root, "src/a")
    assert woken.until(lambda: len(woken.changes) == 1)
    assert woken.quiet() == [("created", "src/a")]


def test_a_watch_that_cannot_be_set_up_is_told_of_and_files_are_compared(tmp_path, monkeypatch):
    def full(*_):
        raise OSError("OS file watch limit reached. (os error 28)")

    monkeypatch.setattr(folder_watch, "_backend", lambda: full)
    with Woken(tmp_path) as woken:
        assert "max_user_watches" in woken.notes[0]
        write(tmp_path, "a")
        assert woken.until(lambda: woken.changes)
        assert woken.quiet(marked=False) == [("created", "a")]


def test_a_user_may_want_polling(tmp_path, monkeypatch):
    monkeypatch.setenv("WATCHFILES_FORCE_POLLING", "true")
    with Woken(tmp_path) as woken:
        assert list(watches()) == []
        write(tmp_path, "a")
        assert woken.until(lambda: woken.changes)
        assert woken.quiet() == [("created", "a")]


def test_without_watchfiles_it_says_what_to_install(tmp_path):
    code = f"""
import sys
sys.modules["watchfiles"] = None
from bylaw.hosts.bus.watcher.folder_watch import FolderWatch
from bylaw.model.errors import BylawError
try:
    FolderWatch({str(tmp_path)!r}, print)
except BylawError as wrong:
    print(wrong)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "install `bylaw[watch]`" in done.stdout
