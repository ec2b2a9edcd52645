"""What lay there before and what lies there now → what happened, also against a model."""

from hypothesis import given
from hypothesis import strategies as st
from watching import brief

from bylaw.hosts.bus.watcher.scan import Entry, EntryKind, derive_changes
from bylaw.hosts.bus.watcher.watcher import MAX_DELAY_S, MAX_PATHS, QuietWindow

PATHS = ("a", "b", "c", "d/a", "d/b", "d/e/a", "f")


def entry(inode, written=1, size=1):
    return Entry(inode, size, written, written, EntryKind.FILE)


def told(before, after):
    return brief(derive_changes(before, after))


def test_the_four_changes():
    """[LD-007] [LD-008] [LD-009] [LD-010] [LD-A05]"""
    one, two = entry(1), entry(2)
    assert told({}, {"a": one}) == [("created", "a")]
    assert told({"a": one}, {"a": entry(1, 2)}) == [("modified", "a")]
    assert told({"a": one}, {}) == [("deleted", "a")]
    assert told({"a": one}, {"b": one}) == [("renamed", "a", "b")]
    assert told({"a": one}, {"a": one}) == []
    assert told({"b": two, "a": one}, {}) == [("deleted", "a"), ("deleted", "b")]


def test_a_save_by_rename_is_one_modified():
    """[LD-A34]"""
    assert told({"a": entry(1)}, {"a": entry(2, 2)}) == [("modified", "a")]
    aside = {"a": entry(2, 2), "a~": entry(1)}
    assert told({"a": entry(1)}, aside) == [("modified", "a"), ("created", "a~")]


def test_a_rename_over_a_file_is_one_renamed():
    assert told({"a": entry(1), "b": entry(2)}, {"b": entry(1)}) == [("renamed", "a", "b")]


def test_renames_one_behind_the_other():
    before = {"a": entry(1), "b": entry(2), "c": entry(3)}
    after = {"b": entry(1), "c": entry(2), "d": entry(3)}
    assert told(before, after) == [
        ("renamed", "a", "b"),
        ("renamed", "b", "c"),
        ("renamed", "c", "d"),
    ]


def test_two_files_that_change_places_are_modified():
    before = {"a": entry(1), "b": entry(2)}
    assert told(before, {"a": entry(2), "b": entry(1)}) == [("modified", "a"), ("modified", "b")]


def test_an_inode_that_is_used_again_is_no_rename():
    assert told({"a": entry(1, 1)}, {"b": entry(1, 9)}) == [("deleted", "a"), ("created", "b")]


def test_a_second_name_of_a_file():
    one = entry(1)
    assert told({"a": one}, {"b": one, "c": one}) == [("renamed", "a", "b"), ("created", "c")]
    assert told({"a": one, "b": one}, {"c": one}) == [("deleted", "b"), ("renamed", "a", "c")]


class Disk:
    """A model of a file system: what lies at a path, and which of it has ever been seen."""

    def __init__(self):
        self.files = {}
        self.last = 0

    def do(self, op, path, other):
        self.last += 1
        if op == "save":
            self.files[path] = entry(self.last, self.last)
        elif path not in self.files:
            return
        elif op == "write":
            self.files[path] = self.files[path]._replace(mtime_ns=self.last, size=self.last)
        elif op == "delete":
            del self.files[path]
        elif op == "move" and path != other:
            self.files[other] = self.files.pop(path)


OPS = st.lists(
    st.tuples(
        st.sampled_from(["save", "write", "delete", "move"]),
        st.sampled_from(PATHS),
        st.sampled_from(PATHS),
    ),
    max_size=12,
)


@given(OPS, OPS)
def test_the_changes_lead_from_before_to_after(first, second):
    disk = Disk()
    for op in first:
        disk.do(*op)
    before = dict(disk.files)
    for op in second:
        disk.do(*op)
    after = disk.files
    changes = derive_changes(before, after)
    assert [c.path for c in changes] == sorted({c.path for c in changes})
    files = dict(before)
    for change in changes:
        files.pop(change.old_path, None)
    for change in changes:
        was = before.get(change.path)
        is_now = after.get(change.path)
        match change.change:
            case "created":
                assert was is None
            case "modified":
                assert was is not None
                assert was != is_now
            case "deleted":
                assert is_now is None
                del files[change.path]
                continue
            case "renamed":
                assert before[change.old_path] == is_now
                assert after.get(change.old_path) != is_now
        files[change.path] = is_now
    assert files == after


@given(OPS)
def test_no_change_is_told_of_what_is_as_before(ops):
    disk = Disk()
    for op in ops:
        disk.do(*op)
    assert derive_changes(disk.files, dict(disk.files)) == []


def test_paths_wait_until_they_are_quiet():
    """[LD-A34]"""
    window = QuietWindow()
    assert window.next_due() is None
    window.note(["a", "b"], 10.0)
    window.note(["a"], 10.0625)
    assert window.next_due() == 10.1
    assert window.due(10.09) == set()
    assert window.due(10.1) == {"b"}
    assert window.waiting() == {"a"}
    assert window.due(10.17) == {"a"}
    assert window.next_due() is None


def test_a_path_that_is_never_quiet_is_due_all_the_same():
    window = QuietWindow()
    for tick in range(20):
        window.note(["a"], tick / 16)
        if due := window.due(tick / 16):
            break
    assert due == {"a"}
    assert tick / 16 == MAX_DELAY_S


def test_too_many_paths_become_everything():
    window = QuietWindow()
    window.note((str(number) for number in range(MAX_PATHS + 1)), 1.0)
    assert window.waiting() == {""}
