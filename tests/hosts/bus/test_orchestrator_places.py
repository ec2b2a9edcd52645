"""What lies under a running orchestrator is moved, removed, replaced or full: told, nothing lost."""

import shutil
import subprocess
import time
from contextlib import suppress

import pytest
from orchestrating import TELL, TELL_ERROR, Repository, rule, run

SIZE = 3 << 20


@pytest.fixture
def laws(repository):
    return with_laws(repository)


def with_laws(repository):
    repository.rules(
        rule("tell", 10, [TELL]),
        rule("runs", 20, [run("python -I -S note.py ran"), TELL], on_error=[TELL_ERROR]),
    )
    return repository


def begun(laws, running):
    """It has handled something, so it is in its loop."""
    laws.put("first", "tell")
    running.until(lambda: laws.is_quiet() and running.lines)


def told(running):
    """What it says, as it ends itself."""
    assert running.ended() == 1
    *_, last = running.notes.splitlines()
    assert last.startswith("error: ")
    assert "Traceback" not in running.notes
    return last


def removed(path, _aside):
    shutil.rmtree(path)


def moved(path, aside):
    path.rename(aside)


def replaced(path, aside):
    path.rename(aside)
    shutil.copytree(aside, path)


def made_a_file(path, aside):
    path.rename(aside)
    path.write_text("x")


CHANGES = [removed, moved, replaced, made_a_file]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("folder", ["runtime/bus", "runtime/bus/input", "runtime/bus/error"])
def test_folders_of_the_bus(laws, folder, change):
    with laws.start() as running:
        begun(laws, running)
        change(laws.root / folder, laws.root.parent / "aside")
        assert "`runtime/bus`" in told(running)


@pytest.mark.parametrize("change", CHANGES)
def test_the_root(laws, change):
    with laws.start() as running:
        begun(laws, running)
        change(laws.root, laws.root.parent / "aside")
        last = told(running)
        assert str(laws.root) in last or "`runtime/bus`" in last


def test_what_is_under_way_when_the_bus_is_moved_is_not_lost(laws):
    laws.rules(rule("runs", 20, [run("python -I -S note.py ran 1"), TELL]))
    with laws.start() as running:
        msg_id = laws.put("a", "runs")
        running.until(laws.ran)
        laws.bus.rename(laws.root.parent / "aside")
        told(running)
    shutil.rmtree(laws.bus, ignore_errors=True)
    (laws.root.parent / "aside").rename(laws.bus)
    assert laws.once() in {0, 1}
    assert laws.told() == {msg_id: 1}
    assert laws.ran() == {"ran": 1}
    assert laws.is_quiet()


def test_what_is_under_way_when_the_records_are_moved_is_not_run_again(laws):
    """The claim stays, and whoever comes next finds out what was begun."""
    laws.rules(rule("runs", 20, [run("python -I -S note.py ran 1"), TELL], on_error=[TELL_ERROR]))
    state, aside = laws.root / ".bylaw/state", laws.root / "aside"
    with laws.start() as running:
        msg_id = laws.put("a", "runs")
        running.until(laws.ran)
        state.rename(aside)
        assert "was moved or replaced" in told(running)
    assert len(laws.names("processing")) == 1
    shutil.rmtree(state, ignore_errors=True)
    aside.rename(state)
    assert laws.once() == 1
    (evidence,) = laws.evidence_of(msg_id, "error")
    assert "interrupted" in evidence["text"]
    assert laws.ran() == {"ran": 1}
    assert laws.is_quiet()


def test_without_any_law_messages_wait(laws):
    with laws.start() as running:
        begun(laws, running)
        (laws.root / "runtime/rules").rename(laws.root / "aside")
        running.until(lambda: "no RULE_DSL rules are active" in running.notes)
        msg_id = laws.put("b", "tell")
        time.sleep(0.5)
        assert laws.names("input") == ["b.json"]
        (laws.root / "aside").rename(laws.root / "runtime/rules")
        running.until(lambda: laws.told()[msg_id])
        assert running.end() == 0


def test_a_single_pass_without_any_law(laws):
    shutil.rmtree(laws.root / "runtime/rules")
    laws.put("b", "tell")
    with laws.start("--once") as running:
        assert running.ended() == 0
        assert "`b.json` stays in `input`: no RULE_DSL rules are active" in running.notes
    assert laws.names("input") == ["b.json"]


@pytest.fixture
def small(tmp_path):
    """A repository on a disk of a few megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(disk)]
    try:
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("nothing can be mounted here")
    except FileNotFoundError:
        pytest.skip("nothing can be mounted here")
    root = disk / "root"
    root.mkdir()
    yield with_laws(Repository(root, said=tmp_path / "said"))
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(path):
    """Leave no room at all."""
    with path.open("wb", 0) as file, suppress(OSError):
        for size in (1 << 16, 1 << 10, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)


@pytest.mark.parametrize("kind", ["tell", "runs"])
def test_a_full_disk(small, kind):
    filler = small.root.parent / "filler"
    with small.start() as running:
        begun(small, running)
        msg_ids = [small.put(f"m{n}", kind, hidden=True) for n in range(5)]
        fill(filler)
        small.unhide()
        told(running)
    assert small.ran().total() <= 5
    filler.unlink()
    assert small.once() in {0, 1}
    for msg_id in msg_ids:
        assert small.told()[msg_id] >= 1
    assert small.is_quiet()
    assert small.ran().total() <= 5
    assert small.locks() == []
