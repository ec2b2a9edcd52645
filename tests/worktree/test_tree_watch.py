"""What commands did to a work tree is found by files, and is what git would say (DW-A22)."""

import os
import random
import shutil
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest
from git_repository import ALL, BASE, Repository

from bylaw.worktree import tree_walk
from bylaw.worktree.changes import WorkTree
from bylaw.worktree.git import Git
from bylaw.worktree.repository import find_repository
from bylaw.worktree.tree_state import TreeState
from bylaw.worktree.tree_watch import TreeWatch


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "r")
    made.write(".gitignore", "*.log\nbuild/\n/.cache\n")
    made.commit(a="1\n", b="1\n", **{"d/a": "1\n", "d/e/b": "1\n"})
    made.git("checkout", "-q", "-b", "work")
    return made


class Watched:
    """A work tree as it is between the rounds of a stop."""

    def __init__(self, repository):
        time.sleep(0.03)  # of what is just made, git is asked twice
        self.tree = WorkTree(str(repository.path))
        self.tree.may_run = True
        self.tree.changes(ALL)
        self.last = self.tree.drift()

    def changed(self):
        """What was done since this was asked last."""
        before, self.last = self.last, self.tree.drift()
        return sorted({path for path, _ in before.items() ^ self.last.items()})

    def changes(self):
        """As policies see it in the second round."""
        self.tree.update_after_commands()
        return self.tree.changes(ALL)


@pytest.fixture
def watched(repository):
    repository.write("a", "2\n")
    repository.write("untracked", "x\n")
    return Watched(repository)


def afresh(repository):
    return WorkTree(str(repository.path)).changes(ALL)


def test_nothing_was_done(repository, watched):
    assert watched.changed() == watched.changed() == []
    assert watched.changes() == afresh(repository)
    assert watched.tree.processes == 2


def test_it_can_be_watched_again_after_a_status_that_git_did_not_tell(repository, watched):
    repository.write("b", "2\n")
    watched.changed()
    watched.changes()
    watched.last = watched.tree.drift()
    repository.write("d/a", "2\n")
    assert watched.changed() == ["d/a"]
    assert watched.changes() == afresh(repository)


def test_a_state_whose_status_was_worked_out_is_refused_at_once(repository):
    git = Git()
    found = find_repository(git, str(repository.path))
    state = TreeState(git, found, lists_ignored=True)
    for one in (state.refreshed(state.status), TreeState(git, found)):
        with pytest.raises(ValueError, match="no status of git"):
            TreeWatch(git, found, one)
    with pytest.raises(ValueError, match="computed"):
        state.refreshed(state.status).status_answer()


def write(text):
    return lambda path: path.write_text(text)


def replace_by(text):
    """As `sed -i` does."""

    def act(path):
        path.with_name("new").write_text(text)
        path.with_name("new").rename(path)

    return act


def link(path):
    path.unlink()
    path.symlink_to("b")


def turn_into_a_folder(path):
    path.unlink()
    path.mkdir()
    (path / "in").write_text("x")


@pytest.mark.parametrize("path", ["a", "b", "d/e/b", "untracked"])
@pytest.mark.parametrize(
    ("act", "processes"),
    [
        (write("longer\n"), 3),
        (write("3\n"), 3),
        (replace_by("3\n"), 3),
        (os.unlink, 3),
        (write("3\r\n"), 4),
        (lambda path: path.chmod(0o755), 4),
        (link, 4),
        (turn_into_a_folder, 4),
    ],
)
def test_a_file_that_is_changed(repository, watched, act, processes, path):
    act(repository.path / path)

    found = [one for one in watched.changed() if one != f"{path}/in"]
    assert found == [path]
    assert watched.changed() == []
    assert watched.changes() == afresh(repository)
    assert watched.tree.processes <= processes


@pytest.mark.parametrize("path", ["a", "b", "untracked"])
def test_the_same_bytes_once_more_are_none(repository, watched, path):
    text = (repository.path / path).read_text()
    replace_by(text)(repository.path / path)
    assert watched.changed() == []

    write("other")(repository.path / path)
    assert watched.changed() == [path]
    write(text)(repository.path / path)
    assert watched.changed() == [path], "and back"
    assert watched.changes() == afresh(repository)
    assert watched.tree.processes <= 3


@pytest.mark.parametrize("path", ["a", "b", "untracked"])
@pytest.mark.parametrize("nanoseconds", [0, 1])
def test_a_change_within_one_tick_of_the_clock(repository, watched, monkeypatch, path, nanoseconds):
    """The system may say the same of the file then, so it is read; some disks tell seconds alone."""
    stands_still = (time.time_ns() // 10**9 + nanoseconds) * 10**9 + nanoseconds
    monkeypatch.setattr(tree_walk, "os", Clock(stands_still))
    watched.changed()
    (repository.path / path).write_text("y\n")

    assert watched.changed() == [path]
    assert watched.changed() == []


class Clock:
    """The system, where the clock by which it stamps files stands still."""

    def __init__(self, now_ns):
        self.now_ns = now_ns
        self.scandir = os.scandir

    def lstat(self, path):
        found = os.lstat(path)
        return SimpleNamespace(st_ino=found.st_ino, st_mode=found.st_mode, st_ctime_ns=self.now_ns)


def test_new_files_are_seen_unless_they_are_ignored(repository, watched):
    for path in ("new", "new.log", "d/new", "d/new.log", "build/x", "n/m/new", ".cache/x",
                 "-n", ":(top)x", "*", "new\nline", os.fsdecode(b"\xff"), "n/é ü"):  # fmt: skip
        repository.write(path, "x")

    assert watched.changed() == sorted(
        ["new", "d/new", "n/m/new", "-n", ":(top)x", "*", "new\nline", r"\u{dcff}", "n/é ü"]
    )
    assert watched.changes() == afresh(repository)
    assert watched.tree.processes == 3


def test_one_process_says_what_is_ignored_however_often_files_come(repository, watched):
    for number in range(5):
        repository.write(f"{number}.log", "x")
        repository.write(f"d/{number}", "x")
        assert watched.changed() == [f"d/{number}"]
    assert watched.tree.processes == 3


def test_a_folder_that_says_itself_that_it_is_ignored(repository, watched):
    """As caches of many tools do."""
    repository.write(".tool_cache/.gitignore", "*\n")
    repository.write(".tool_cache/deep/x", "x")
    assert watched.changed() == []
    repository.write(".tool_cache/deep/y", "x")
    assert watched.changed() == []
    assert watched.changes() == afresh(repository)
    assert watched.tree.processes == 3


def test_what_was_ignored_before_may_change(repository):
    repository.write("build/x", "x")
    repository.write("d/x.log", "x")
    watched = Watched(repository)
    repository.write("build/x", "y")
    repository.write("build/new", "y")
    repository.write("d/x.log", "y")

    assert watched.changed() == []
    assert watched.tree.processes == 2


def test_a_tracked_file_that_would_be_ignored_is_not(repository):
    repository.write("build/x", "1")
    repository.write("build/y", "1")
    repository.git("add", "-f", "build/x")
    repository.git("commit", "-q", "-m", "x")
    watched = Watched(repository)

    (repository.path / "build/x").unlink()
    assert watched.changed() == ["build/x"]
    repository.write("build/x", "2")
    repository.write("build/y", "2")
    assert watched.changed() == ["build/x"]
    assert watched.changes() == afresh(repository)


@pytest.mark.parametrize("patterns", [".gitignore", "d/.gitignore", ".git/info/exclude"])
def test_patterns_that_change(repository, patterns):
    """Two processes more: git says anew what is ignored, and then again what of new files is."""
    for name in ("d/x.log", "d/y.tmp", "x.log"):
        repository.write(name, "x")
    watched = Watched(repository)
    repository.write(patterns, "*.tmp\n!*.log\n")

    own = [] if patterns.startswith(".git/") else [patterns]
    # Of what is listed in the repository, the clone alone cannot say otherwise.
    shown = {".gitignore": ["d/x.log", "x.log"], "d/.gitignore": ["d/x.log"]}.get(patterns, [])
    assert watched.changed() == sorted([*own, *shown, "d/y.tmp"])
    repository.write("d/z.tmp", "x")
    repository.write("d/z", "x")
    assert watched.changed() == ["d/z"]
    assert watched.changes() == afresh(repository)
    assert watched.tree.processes <= 4 + 2


def test_a_file_that_was_gone_is_written_back_when_patterns_change(repository):
    """What is there counts from the newest status on."""
    (repository.path / "b").unlink()
    watched = Watched(repository)
    repository.write("b", "1\n")
    repository.write(".gitignore", "*.log\n")

    assert watched.changed() == [".gitignore", "b"]
    assert watched.changes() == afresh(repository)


def test_what_was_done_before_patterns_changed_is_undone_behind_that(repository, watched):
    repository.write("a", "3\n")
    repository.write("b", "2\n")
    repository.write("new", "x\n")
    (repository.path / "d/a").unlink()
    repository.write(".gitignore", "*.log\n")
    assert watched.changed() == [".gitignore", "a", "b", "d/a", "new"]
    repository.write("a", "2\n")
    repository.write("b", "1\n")
    (repository.path / "new").unlink()
    repository.write("d/a", "1\n")

    assert watched.changed() == ["a", "b", "d/a", "new"]
    assert watched.changes() == afresh(repository)


def test_folders_that_are_moved_linked_and_removed(repository, watched):
    (repository.path / "d").rename(repository.path / "f")
    assert watched.changed() == ["d/a", "d/e/b", "f/a", "f/e/b"]
    (repository.path / "d").symlink_to("f")
    assert watched.changed() == ["d"]
    shutil.rmtree(repository.path / "f")
    assert watched.changed() == ["f/a", "f/e/b"]
    (repository.path / "d").unlink()
    repository.write("d/a", "1\n")
    repository.write("d/e/b", "1\n")
    assert watched.changed() == ["d", "d/a", "d/e/b"]
    assert watched.last == {}
    assert watched.changes() == afresh(repository)


def test_pipes_are_no_files(repository, watched):
    os.mkfifo(repository.path / "pipe")
    assert watched.changed() == []
    (repository.path / "b").unlink()
    os.mkfifo(repository.path / "b")
    assert watched.changed() == ["b"]


def made_inside(repository, name):
    inner = Repository(repository.path / name)
    inner.commit(x="1")
    return inner


def test_repositories_inside_are_one_file(repository):
    """A submodule, a clone that nobody added, a work tree of our own."""
    origin = Repository(repository.path.parent / "origin")
    origin.commit(x="1")
    repository.git("submodule", "--quiet", "add", f"file://{origin.path}", "sub")
    repository.commit()
    made_inside(repository, "clone")
    repository.git("worktree", "add", "-q", "-b", "beside", "tree")
    watched = Watched(repository)

    for name in ("sub", "clone", "tree"):
        repository.write(f"{name}/x", "2")
        repository.write(f"{name}/new", "2")
    assert watched.changed() == []

    for name in ("sub", "clone", "tree"):
        Repository(repository.path / name, made=False).commit(x="3")
    assert watched.changed() == ["clone", "sub", "tree"]
    assert watched.changes() == afresh(repository)

    watched = Watched(repository)
    made_inside(repository, "new")
    shutil.rmtree(repository.path / "clone")
    assert watched.changed() == ["clone", "new"]
    assert watched.changes() == afresh(repository)


def test_a_repository_around_files_of_ours(repository):
    made_inside(repository, "d")
    watched = Watched(repository)
    repository.write("d/a", "2\n")
    repository.write("d/e/b", "2\n")

    assert watched.changed() == ["d/a", "d/e/b"]
    assert watched.changes().base == afresh(repository).base


@pytest.mark.parametrize("how", ["worktree", "subfolder"])
def test_other_places_to_look_from(repository, tmp_path, how):
    if how == "worktree":
        repository.git("worktree", "add", "-q", "-b", "more", str(tmp_path / "more"))
        repository = Repository(tmp_path / "more", made=False)
    watched = Watched(repository)
    watched.tree = WorkTree(str(repository.path / "d"))
    watched.tree.may_run = True
    watched.last = watched.tree.drift()
    repository.write("d/a", "2\n")
    repository.write("x.log", "2\n")

    assert watched.changed() == ["d/a"]
    assert watched.changes() == afresh(repository)


@pytest.mark.parametrize(
    "commands",
    [
        [("add", "-A")],
        [("commit", "-q", "-a", "-m", "x")],
        [("commit", "-q", "--amend", "--allow-empty", "-m", "x")],
        [("add", "-A"), ("reset", "-q", "--soft", "main~1")],
        [("checkout", "-q", "-f", "main~1")],
        [("stash", "-q", "-u")],
        [("rm", "-q", "-f", "b")],
        [("rm", "-q", "--cached", "b")],
        [("add", "-N", "untracked")],
    ],
)
def test_a_command_that_uses_git(repository, commands):
    repository.git("checkout", "-q", "main")
    repository.commit(more="x")
    repository.git("checkout", "-q", "work")
    repository.write("a", "2\n")
    repository.write("untracked", "x\n")
    watched = Watched(repository)
    for arguments in commands:
        repository.git(*arguments)
    watched.changed()

    assert watched.changes() == afresh(repository)
    assert watched.tree.processes <= 6


@pytest.mark.parametrize("text", ["1\n", "1\r\n", "2\r\n", "1\r\n\n"])
def test_line_ends_that_git_sees_in_another_way(repository, text):
    repository.git("config", "core.autocrlf", "true")
    for path in ("a", "b"):
        (repository.path / path).unlink()
    repository.git("checkout", "-q", "a", "b")
    assert (repository.path / "a").read_bytes() == b"1\r\n"
    repository.write("b", "x\n")
    watched = Watched(repository)
    before = {path: (repository.path / path).read_bytes() for path in ("a", "b", "d/a")}
    for path in before:
        (repository.path / path).write_bytes(text.encode())

    # What was other line ends is told as a change, though it may be none.
    changed = {path for path, held in before.items() if held != text.encode()}
    assert changed <= set(watched.changed()) <= changed | {"a"}
    assert watched.changes() == afresh(repository)


def test_modes_at_which_git_does_not_look(repository):
    repository.git("config", "core.fileMode", "false")
    repository.write("b", "x\n")
    watched = Watched(repository)
    for path, text in (("a", "1\n"), ("b", "y\n"), ("d/a", "2\n")):
        repository.write(path, text)
        (repository.path / path).chmod(0o755)
    watched.changed()

    assert watched.changes() == afresh(repository)


def test_files_that_git_was_told_not_to_look_for(repository):
    repository.git("update-index", "--skip-worktree", "b", "d/a")
    (repository.path / "b").unlink()
    repository.write("d/a", "2\n")
    watched = Watched(repository)
    repository.write("b", "2\n")
    repository.write("d/a", "3\n")
    watched.changed()

    assert watched.changes() == afresh(repository)


def test_before_the_first_commit(tmp_path):
    repository = Repository(tmp_path / "r")
    repository.write("staged", "x")
    repository.git("add", "staged")
    watched = Watched(repository)
    repository.write("staged", "y")
    repository.write("new", "y")

    assert watched.changed() == ["new", "staged"]
    assert watched.changes() == afresh(repository)


def test_what_came_after_git_had_looked_and_before_commands_run(repository):
    """Others are at work, too: what they make is no change by our command, ignored or not."""
    tree = WorkTree(str(repository.path))
    tree.may_run = True
    tree.changes(ALL)
    for path in ("x.log", "d/x.log", "d/new", "n/new", "new"):
        repository.write(path, "x")
    before = tree.drift()
    for path in ("x.log", "d/x.log", "d/new", "new"):
        repository.write(path, "y")

    assert before == {}
    assert sorted(tree.drift()) == ["d/new", "new"]
    assert tree.processes <= 4


def test_whoever_did_not_say_that_commands_may_run(repository):
    repository.write("build/x", "x")
    tree = WorkTree(str(repository.path))
    tree.changes(ALL)
    tree.drift()
    repository.write("build/x", "y")

    assert tree.drift() == {}


NAMES = ["a", "b", "d/a", "d/e/b", "d/new", "n/m/new", "x.log", "build/x", "build/y", "é", "d"]
TEXTS = ["1\n", "2\n", "3\n", "x\r\ny\n", ""]


def random_write(path, chance):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        path.unlink()
    path.write_text(chance.choice(TEXTS))


def random_replace(path, chance):
    path.with_name("new.log").write_text(chance.choice(TEXTS))
    path.with_name("new.log").rename(path)


def random_remove(path, _):
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def random_link(path, chance):
    path.unlink()
    path.symlink_to(chance.choice(["a", "b", "d"]))


def random_mode(path, chance):
    if path.is_file() and not path.is_symlink():
        path.chmod(chance.choice([0o644, 0o755]))


def random_move(path, chance):
    path.rename(path.parent / chance.choice(["a", "moved", "x.log"]))


ACTS = [random_write] * 4 + [random_replace] * 2 + [random_remove] * 2 + [
    random_link, random_mode, random_move]  # fmt: skip


def listed(repository):
    """All files that git does not ignore, with what they are."""
    told = repository.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    found = {}
    for name in told.split("\0"):
        path = repository.path / name
        beyond = any(one.is_symlink() for one in path.parents if repository.path in one.parents)
        if name and not beyond and path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif name and not beyond and path.is_file():
            found[name] = (os.access(path, os.X_OK), path.read_bytes())
    return found


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_done_is_seen_as_git_sees_it(repository, seed):
    chance = random.Random(seed)
    for _ in range(4):
        watched = Watched(repository)
        for _ in range(4):
            before = listed(repository)
            for _ in range(chance.randrange(5)):
                path = repository.path / chance.choice(NAMES)
                with suppress(OSError):
                    chance.choice(ACTS)(path, chance)
            after = listed(repository)
            expected = {path for path, _ in before.items() ^ after.items()}
            assert set(watched.changed()) == expected
        assert watched.changes() == afresh(repository)
        if chance.random() < 0.5:
            with suppress(AssertionError):
                repository.git("add", "-A")
                repository.git("commit", "-q", "-m", "x")


def test_base_of_a_stop_does_not_change_while_it_lasts(repository):
    """A command that fetches moves the branch that HEAD is compared with: at the next stop."""
    watched = Watched(repository)
    base = watched.tree.changes([BASE]).base.ref
    repository.git("branch", "-f", "main", "HEAD")
    watched.changed()

    assert watched.changes().base.ref == base
