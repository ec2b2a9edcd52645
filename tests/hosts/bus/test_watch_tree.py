"""A real folder, and a watcher that is told where something happened, with a clock of the test."""

import os
import shutil
import sqlite3
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from watching import EXCLUDED, STORE, Told, brief, write

from bylaw.hosts.bus.watcher import scan
from bylaw.hosts.bus.watcher.folder_watch import make_plan
from bylaw.hosts.bus.watcher.snapshot_store import AlreadyWatchedError, SnapshotStore
from bylaw.hosts.bus.watcher.watcher import SWEEP_AFTER_S, SWEEP_EVERY_S, FileWatcher
from bylaw.model.errors import BylawError
from bylaw.worktree.git import fact_path_of


@pytest.fixture
def root(tmp_path):
    return tmp_path / "root" if (tmp_path / "root").mkdir() is None else None


def test_the_first_start_tells_nothing(root):
    write(root, "src/a.ts")
    with Told(root) as told:
        assert told.at_start == []
        assert told.later() == []


def test_created_modified_deleted_renamed(root):
    """[LD-001] [LD-007] [LD-008] [LD-009] [LD-010] [LD-011]"""
    with Told(root) as told:
        write(root, "src/a.ts")
        assert told.after("src") == [("created", "src/a.ts")]
        write(root, "src/a.ts", "xy")
        assert told.after("src/a.ts") == [("modified", "src/a.ts")]
        (root / "src/a.ts").rename(root / "src/b.ts")
        assert told.after("src/a.ts", "src/b.ts") == [("renamed", "src/a.ts", "src/b.ts")]
        (root / "src/b.ts").unlink()
        assert told.after("src/b.ts") == [("deleted", "src/b.ts")]
        assert told.later(SWEEP_EVERY_S) == []


def test_a_touch_is_not_created(root):
    """[LD-008]"""
    write(root, "a")
    with Told(root) as told:
        os.utime(root / "a")
        assert told.after("a") == [("modified", "a")]


def test_a_change_does_not_hide_behind_a_time_that_is_set_back(root):
    write(root, "a", "one")
    was = (root / "a").stat()
    with Told(root) as told:
        write(root, "a", "two")
        os.utime(root / "a", ns=(was.st_atime_ns, was.st_mtime_ns))
        assert told.after("a") == [("modified", "a")]


def test_one_save_is_one_event(root):
    """[LD-A34]"""
    write(root, "a", "one")
    with Told(root) as told:
        told.note("a.tmp")
        write(root, "a.tmp", "two")
        told.note("a.tmp")
        assert told.later(0.05) == []
        (root / "a.tmp").rename(root / "a")
        told.note("a.tmp", "a")
        assert told.later(0.0625) == []
        assert told.later(0.0625) == [("modified", "a")]


def test_created_and_deleted_within_the_window_is_nothing(root):
    with Told(root) as told:
        write(root, "a")
        told.note("a")
        (root / "a").unlink()
        assert told.after("a") == []


def test_the_second_half_of_a_rename_may_be_heard_later(root):
    write(root, "a")
    with Told(root) as told:
        (root / "a").rename(root / "b")
        told.note("a")
        assert told.later(0.0625) == []
        told.note("b")
        assert told.later(0.0625) == [("renamed", "a", "b")]
        assert told.later() == []


def test_a_path_that_waits_is_not_told_of_with_others(root):
    with Told(root) as told:
        write(root, "a")
        told.note("a")
        told.later(0.0625)
        write(root, "b")
        told.note("b")
        assert told.later(0.0625) == [("created", "a")]
        assert told.later(0.0625) == [("created", "b")]


def test_a_folder_that_is_renamed_renames_its_files(root):
    write(root, "one/a")
    write(root, "one/deep/er/b")
    with Told(root) as told:
        (root / "one").rename(root / "two")
        assert told.after("one", "two") == [
            ("renamed", "one/a", "two/a"),
            ("renamed", "one/deep/er/b", "two/deep/er/b"),
        ]


def test_a_tree_that_is_deleted(root):
    for number in range(20):
        write(root, f"one/{number % 4}/{number:02}")
    with Told(root) as told:
        shutil.rmtree(root / "one")
        assert len(told.after("one")) == 20
        assert told.later(SWEEP_EVERY_S) == []


def test_a_file_that_becomes_a_folder_and_back(root):
    write(root, "a")
    with Told(root) as told:
        (root / "a").unlink()
        write(root, "a/b")
        assert told.after("a") == [("deleted", "a"), ("created", "a/b")]
        shutil.rmtree(root / "a")
        write(root, "a")
        assert told.after("a") == [("created", "a"), ("deleted", "a/b")]


def test_what_nobody_told_of_is_found_when_everything_is_compared(root):
    with Told(root) as told:
        write(root, "deep/down/a")
        write(root, "b")
        assert told.after("b") == [("created", "b")]
        assert told.later(SWEEP_AFTER_S) == []
        assert told.later() == [("created", "deep/down/a")]
        (root / "b").unlink()
        assert told.later(SWEEP_EVERY_S) == []
        assert told.later() == [("deleted", "b")]


def test_a_file_that_changes_after_it_was_looked_at_is_told_of_again(root):
    with Told(root) as told:
        write(root, "a", "one")
        assert told.after("a") == [("created", "a")]
        write(root, "a", "three")
        assert told.after("a") == [("modified", "a")]


def test_bus_and_state_of_our_own_are_left_out(root):
    """[LD-A33]"""
    write(root, "runtime/bus/input/m.yaml")
    with Told(root) as told:
        for path in ("runtime/bus/input/n.yaml", "runtime/locks/l", ".bylaw/state/x", ".git/HEAD"):
            write(root, path)
        write(root, "runtime/busy")
        paths = ("runtime", "runtime/bus/input/n.yaml", ".bylaw", ".git", ".git/HEAD")
        assert told.after(*paths) == [("created", "runtime/busy")]
        assert told.later(SWEEP_EVERY_S) == []
        assert told.later() == []


def test_a_bus_behind_a_link_is_left_out_where_it_lies(root):
    """[LD-A33]"""
    (root / "data/bus").mkdir(parents=True)
    (root / "runtime").mkdir()
    (root / "runtime/bus").symlink_to("../data/bus")
    with Told(root) as told:
        write(root, "data/bus/m")
        assert told.after("data/bus/m", "data") == []


def test_the_snapshot_itself_is_never_told_of(root):
    with Told(root, excluded=()) as told:
        write(root, "a")
        assert told.after("a", ".bylaw") == [("created", "a")]
        told.watcher.acknowledge()
        assert told.after("", ".bylaw/state", STORE, f"{STORE}-wal") == []


def test_paths_outside_of_the_root_are_no_events(root):
    """[LD-001] [LD-012]"""
    with Told(root) as told:
        write(root.parent, "x")
        write(root.parent, "root-two/x")
        told.watcher.note([f"{root.parent}/x", f"{root.parent}/root-two/x", "/etc/passwd", "x"])
        assert told.later() == []


def test_links(root):
    """[LD-012]"""
    write(root.parent, "secret/file")
    write(root, "src/a")
    with Told(root) as told:
        (root / "in").symlink_to("src")
        (root / "out").symlink_to("../secret")
        (root / "file").symlink_to(root.parent / "secret/file")
        (root / "dangling").symlink_to("nowhere")
        (root / "loop").symlink_to("loop")
        made = told.after("in", "out", "file", "dangling", "loop", "in/a", "out/file")
        assert made == [("created", "dangling"), ("created", "in"), ("created", "loop")]
        assert sorted(told.watcher.outside) == ["file", "out"]
        told.watcher.outside.clear()
        write(root.parent, "secret/new")
        assert told.after("out/new", "out", "file") == []
        assert told.later(SWEEP_EVERY_S) == []
        assert told.watcher.outside == []
        (root / "out").unlink()
        assert told.after("out") == []
        (root / "src/a").unlink()
        (root / "src/a").symlink_to("/etc/passwd")
        assert told.after("src/a") == [("deleted", "src/a")]
        assert told.watcher.outside == ["src/a"]
        told.watcher.acknowledge()
    with Told(root) as told:
        assert told.at_start == []
        assert told.watcher.outside == []


def test_a_folder_in_whose_place_comes_a_link_is_not_followed(root):
    write(root.parent, "secret/a")
    write(root, "one/a")
    with Told(root) as told:
        shutil.rmtree(root / "one")
        (root / "one").symlink_to("../secret")
        assert told.after("one/a") == [("deleted", "one/a")]
        assert told.after("one") == []
        assert told.watcher.outside == ["one"]


def test_only_folders_without_links_are_watched_with_all_below(root):
    """[LD-012]"""
    write(root, "src/deep/a")
    write(root, "lib/deep/er/a")
    write(root, "runtime/bus/input/a")
    write(root, "runtime/log/a")
    (root / "lib/deep/link").symlink_to("/")
    with Told(root) as told:
        found = told.watcher.pop_plan()
        assert found.flat == {"", "lib", "lib/deep", "runtime", ".bylaw"}
        assert found.deep == {"src", "lib/deep/er", "runtime/log"}
        assert told.watcher.pop_plan() is None
        (root / "src/link").symlink_to("..")
        told.after("src/link")
        assert "src" in told.watcher.pop_plan().flat
        write(root, "new/er/a")
        told.after("new")
        assert "new" in told.watcher.pop_plan().deep
        shutil.rmtree(root / "new")
        (root / "new").mkdir()
        told.after("new")
        assert "new" in told.watcher.pop_plan().deep


def test_names_that_are_no_text(root):
    (root / os.fsdecode(b"d\xff")).mkdir()
    with Told(root) as told:
        names = (b"d\xff/a", b"a\tb.py", b"line\nbreak", b"\x1b[2J", rb"\u{a}", b"caf\xc3\xa9")
        for name in names:
            (root / os.fsdecode(name)).touch()
        found = told.after("")
        assert found == []  # the root itself names nothing
        told.watcher.note_everything()
        told.later(0)
        found = told.later()
        assert sorted(path for _, path in found) == sorted(
            ["café", "a\tb.py", "d\\u{dcff}/a", "line\nbreak", "\x1b[2J", "\\u{5c}u{a}"]
        )
        # A rule sees what it sees where git tells of the same files.
        assert {path for _, path in found} == {fact_path_of(name) for name in names}
        for _, path in found:
            path.encode()
        told.watcher.acknowledge()
    with Told(root) as told:
        assert told.at_start == []


def test_a_time_that_no_database_holds(root):
    write(root, "a")
    os.utime(root / "a", (2**33, 2**33))
    with Told(root) as told:
        assert told.later(SWEEP_EVERY_S) == []
        os.utime(root / "a", (-(2**31), -(2**31)))
        assert told.after("a") == [("modified", "a")]
        told.watcher.acknowledge()
        assert told.watcher.notes == []


def test_what_changed_while_nobody_watched_is_found_at_the_start(root):
    for name in "abcd":
        write(root, f"src/{name}")
    with Told(root):
        pass
    write(root, "src/a", "new")
    (root / "src/b").unlink()
    (root / "src/c").rename(root / "src/z")
    write(root, "new/e")
    with Told(root) as told:
        assert told.at_start == [
            ("created", "new/e"),
            ("modified", "src/a"),
            ("deleted", "src/b"),
            ("renamed", "src/c", "src/z"),
        ]
    with Told(root) as told:
        assert told.at_start == []


def test_what_was_not_acknowledged_is_told_again(root):
    with Told(root) as told:
        write(root, "a")
        assert told.after("a") == [("created", "a")]
        told.watcher.acknowledge()
        write(root, "b")
        assert told.after("b") == [("created", "b")]
    with Told(root) as told:
        assert told.at_start == [("created", "b")]


def test_what_is_excluded_from_now_on_was_not_deleted(root):
    write(root, "build/a")
    write(root, "src/a")
    with Told(root):
        pass
    with Told(root, (*EXCLUDED, "build")) as told:
        assert told.at_start == []
        write(root, "build/b")
        write(root, "src/b")
    with Told(root) as told:
        assert told.at_start == [("created", "src/b")]
        write(root, "build/c")
        assert told.after("build/c") == [("created", "build/c")]


def damaged(root, data):
    with Told(root):
        pass
    (root / STORE).write_bytes(data)


@pytest.mark.parametrize(
    "data", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4000]
)
def test_a_damaged_snapshot_is_begun_anew(root, data):
    damaged(root, data)
    write(root, "a")
    with Told(root) as told:
        assert told.at_start == []
        assert "is created again" in told.watcher.notes[0]
        write(root, "b")
        assert told.after("b") == [("created", "b")]
        told.watcher.acknowledge()
    with Told(root) as told:
        assert told.at_start == []
        assert told.watcher.notes == []


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE files",
        "PRAGMA user_version = 77",
        "INSERT INTO files VALUES (x'61', x'01', 1, 1, 1, 'nothing')",
        "PRAGMA application_id = 5",
    ],
)
def test_a_snapshot_that_says_something_else_is_begun_anew(root, statement):
    with Told(root):
        pass
    connection = sqlite3.connect(root / STORE)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with Told(root) as told:
        assert told.at_start == []
        assert len(told.watcher.notes) == 1


@pytest.mark.parametrize("ask", [SnapshotStore.load, SnapshotStore.handled])
def test_a_snapshot_that_cannot_be_read_just_now_is_not_begun_anew(root, ask):
    with Told(root):
        pass
    store = SnapshotStore(str(root / STORE))
    store._database.set_progress_handler(lambda: 1, 1)  # SQLite gives up, as when others hold it
    with pytest.raises(BylawError, match="cannot open the snapshot of files: interrupted"):
        ask(store)
    store.close()
    write(root, "a")
    with Told(root) as told:
        assert told.at_start == [("created", "a")]
        assert told.watcher.notes == []


def test_a_snapshot_that_is_damaged_meanwhile_is_begun_anew(root):
    for number in range(500):
        write(root, f"src/{number}")
    with Told(root) as told:
        told.watcher._store._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root / STORE).write_bytes(b"\xff" * 100_000)
        told.watcher._store._database.execute("PRAGMA shrink_memory")
        write(root, "a")
        assert told.after("a") == [("created", "a")]
        told.watcher.acknowledge()
        assert "is created again" in told.watcher.notes[0]
        (root / "src/7").unlink()
    with Told(root) as told:
        assert told.at_start == [("deleted", "src/7")]


def test_the_snapshot_is_for_this_user_alone(root):
    with Told(root):
        for name in ("watch.db", "watch.db-wal", "watch.db.lock"):
            assert (root / ".bylaw/state" / name).stat().st_mode & 0o077 == 0
        with pytest.raises(AlreadyWatchedError):
            FileWatcher(str(root), EXCLUDED, str(root / STORE))
    with Told(root):
        pass


def test_a_snapshot_is_not_written_through_a_link(root):
    write(root.parent, "victim", "kept")
    (root / ".bylaw/state").mkdir(parents=True)
    (root / STORE).symlink_to(root.parent / "victim")
    with pytest.raises((OSError, BylawError)):
        FileWatcher(str(root), EXCLUDED, str(root / STORE))
    assert (root.parent / "victim").read_text() == "kept"


def test_a_tree_that_is_too_deep_is_told_of_and_does_no_harm(root):
    folder = os.open(root, os.O_RDONLY)
    for _ in range(scan.MAX_DEPTH * 5):
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)
    write(root, "a")
    with Told(root) as told:
        assert "deeper" in told.watcher.notes[0]
        assert told.watcher.pop_plan() is not None
        write(root, "a", "xy")
        assert told.after("a", "d") == [("modified", "a")]
        assert len(told.watcher.notes) == 1


def test_a_root_that_is_gone_does_not_delete_its_files(root):
    write(root, "src/a")
    with Told(root) as told:
        root.rename(root.parent / "moved")
        assert told.after("src/a", "src") == []
        assert told.later(SWEEP_EVERY_S) == []
        assert told.later() == []
        assert "cannot be read" in told.watcher.notes[0]


OPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "replace", "delete", "move", "remove", "pause", "restart"]),
        st.sampled_from(["a", "b", "d/a", "d/e/a", "f/a"]),
        st.sampled_from(["a", "b", "d/a", "d/e/a", "f/a", "d", "f", "g"]),
    ),
    max_size=20,
)


class Mirror:
    """What somebody knows who hears of changes only, and knows what files hold when they change."""

    def __init__(self, root):
        self.root = root
        self.files = {}

    def hear(self, changes):
        olds = [change[1] for change in changes if change[0] == "renamed"]
        moved = {change[2]: self.files[change[1]] for change in changes if change[0] == "renamed"}
        for path in olds:
            del self.files[path]
        for change in changes:
            if change[0] == "deleted":
                del self.files[change[1]]
            elif change[0] != "renamed":
                assert (change[1] in self.files) == (change[0] == "modified"), change
                self.files[change[1]] = (self.root / change[1]).read_text()
        self.files |= moved


def do(root, op, path, other, text):
    place, target = root / path, root / other
    try:
        match op:
            case "write" | "replace":
                write(root, f"{path}.tmp" if op == "replace" else path, text)
                if op == "replace":
                    (root / f"{path}.tmp").replace(place)
            case "delete":
                place.unlink()
            case "move":
                target.parent.mkdir(parents=True, exist_ok=True)
                place.rename(target)
            case "remove":
                shutil.rmtree(root / other)
    except OSError:
        pass  # nothing to do it with


@settings(max_examples=60, deadline=None)
@given(OPS, st.booleans())
def test_whoever_hears_the_changes_knows_the_tree(tmp_path_factory, ops, names_paths):
    root = tmp_path_factory.mktemp("tree")
    mirror = Mirror(root)
    everything = ["a", "b", "d", "f", "g", "d/a", "d/e", "d/e/a", "f/a", "g/a"]
    numbers = count()

    def look(told):
        if names_paths:
            told.note(*everything)
        else:
            told.watcher.note_everything()
            mirror.hear(told.later(0))
        mirror.hear(told.later())
        told.watcher.acknowledge()

    told = Told(root).__enter__()
    for op, path, other in ops:
        if op == "pause":
            look(told)
        elif op == "restart":
            told.watcher.close()
            told = Told(root).__enter__()
            mirror.hear(told.at_start)
        else:
            do(root, op, path, other, f"{next(numbers)}")
    look(told)
    told.watcher.close()
    there = {
        str(place.relative_to(root)): place.read_text()
        for place in root.rglob("*")
        if place.is_file() and ".bylaw" not in place.parts
    }
    assert mirror.files == there


def test_the_plan_of_a_folder_that_may_not_be_read(root):
    write(root, "src/a")
    write(root, "src/closed/a")
    with Told(root) as told:
        top = told.watcher._known.top
        top.folders["src"].folders["closed"].closed = True
        found = make_plan(top, ())
        assert "src" in found.flat
        assert not found.names("src/closed")


def test_changes_are_in_the_order_of_their_paths(root):
    with Told(root) as told:
        for name in "cabd":
            write(root, name)
        told.note(*"dbca")
        assert told.later() == [("created", name) for name in "abcd"]
        assert brief([]) == []
