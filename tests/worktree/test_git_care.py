"""Looking at a repository changes nothing in it, starts nothing of it, and takes few processes."""

import os
import stat
import sys
from pathlib import Path

import pytest
from git_repository import ALL, BASE, PROMPT, Repository

from bylaw.model.errors import BylawError
from bylaw.worktree import git as git_module
from bylaw.worktree import repository as repository_module
from bylaw.worktree.changes import WorkTree
from bylaw.worktree.git import Git, filter_names


@pytest.fixture
def repository(tmp_path):
    """On a branch with a commit, dirty in every way, with a prompt behind it."""
    upstream = Repository(tmp_path / "upstream")
    upstream.commit(a="1", b="1", c="1")
    clone = upstream.clone("clone")
    clone.git("checkout", "-q", "-b", "work")
    clone.commit(one="x")
    clone.capture()
    clone.commit(two="x")
    upstream.commit(theirs="x")
    clone.git("fetch", "-q")
    make_dirty(clone)
    return clone


def make_dirty(repository):
    repository.write("a", "2")
    repository.git("add", "a")
    repository.write("untracked", "x")
    (repository.path / "b").unlink()
    # Git would like to write down that it is not dirty.
    os.utime(repository.path / "c", (1, 1))


def everything(folder):
    """All files with content, mode and times."""
    return {
        path: (path.lstat().st_mode, path.lstat().st_mtime_ns, path.lstat().st_ino,
               path.read_bytes() if path.is_file() else b"")
        for path in sorted(Path(folder).rglob("*"))
    }  # fmt: skip


def test_neither_the_index_nor_the_work_tree_is_touched(repository):
    """Facts bug 1."""
    before = everything(repository.path)

    repository.changes(*ALL)

    assert everything(repository.path) == before
    assert repository.git("status", "--porcelain").splitlines() == ["M  a", " D b", "?? untracked"]


def test_it_works_where_nothing_can_be_written(repository):
    for path in (repository.path / ".git").rglob("*"):
        path.chmod(path.stat().st_mode & ~0o222)
    (repository.path / ".git").chmod(0o555)

    assert repository.changed()["a"] == "modified"


def test_a_lock_of_somebody_else_is_no_trouble(repository):
    (repository.path / ".git/index.lock").write_text("")

    assert repository.changed()["a"] == "modified"


def counting(tmp_path):
    """A program that writes down each start and then is git."""
    program, log = tmp_path / "counting", tmp_path / "log"
    program.write_text(f'#!/bin/sh\necho "$*" >>"{log}"\nexec git "$@"\n')
    program.chmod(0o755)
    return str(program), lambda: log.read_text().splitlines() if log.exists() else []


def test_all_baselines_together_take_three_processes(repository, tmp_path):
    """Facts bug 2, DW-130: however often somebody asks."""
    program, started = counting(tmp_path)
    tree = WorkTree(str(repository.path), program=program)
    for baseline in ALL * 3:
        tree.changes([baseline])
    one_by_one = len(started())

    whole = WorkTree(str(repository.path), program=program)
    changes = whole.changes(ALL)
    again = whole.changes(ALL)

    assert changes == again
    assert len({changes.base.ref, changes.default_tip.ref, changes.prompt.ref}) == 3
    assert len(started()) - one_by_one == whole.processes == 3
    assert one_by_one == tree.processes == 3


def test_where_head_is_every_baseline_two_are_enough(repository, tmp_path):
    repository.git("checkout", "-q", "-f", "--detach", "origin/main")
    program, started = counting(tmp_path)

    WorkTree(str(repository.path), program=program).changes([BASE])

    assert len(started()) == 2
    repository.capture()
    WorkTree(str(repository.path), program=program).changes([PROMPT])
    assert len(started()) == 4


def test_git_starts_no_process_of_its_own(repository, tmp_path):
    """Also not for submodules: what is counted is all that there is."""
    outer = Repository(tmp_path / "outer")
    outer.git("submodule", "--quiet", "add", f"file://{repository.path}", "sub")
    outer.commit()
    (outer.path / "sub/two").write_text("dirty")
    trace = tmp_path / "trace"
    program = tmp_path / "tracing"
    program.write_text(f'#!/bin/sh\nGIT_TRACE="{trace}" exec git "$@"\n')
    program.chmod(0o755)

    WorkTree(str(outer.path), program=str(program)).changes(ALL)

    text = trace.read_text()
    assert "built-in: git status" in text
    assert "run_command" not in text


def evil(tmp_path, name):
    """A program that leaves a trace."""
    program = tmp_path / name
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\ncat\n")
    program.chmod(0o755)
    return str(program)


def ran(tmp_path):
    return sorted(path.name for path in tmp_path.glob("ran-*"))


def arm(repository, tmp_path, setting="config"):
    """Whatever in the settings of a repository could start a program."""
    for key in (
        "core.fsmonitor", "core.pager", "core.sshCommand", "core.askPass", "core.editor",
        "core.alternateRefsCommand", "diff.external", "diff.evil.command", "diff.evil.textconv",
        "filter.evil.clean", "filter.evil.smudge", "filter.EVIL.process", "filter.lfs.clean",
        "filter.lfs.process", 'filter.a"b\\c.clean', "merge.evil.driver", "pager.status",
        "pager.diff-tree", "gpg.program", "credential.helper", "uploadpack.packObjectsHook",
        "remote.origin.uploadpack", "submodule.sub.update", "alias.status", "alias.rev-parse",
        "trace2.eventTarget", "sequence.editor", "interactive.diffFilter",
    ):  # fmt: skip
        repository.git(setting, key, evil(tmp_path, key.replace('"', "q").replace("\\", "s")))
    repository.git(setting, "filter.evil.required", "true")
    repository.git(setting, "core.untrackedCache", "true")
    repository.git(setting, "log.showSignature", "true")
    hooks = repository.path / "evil-hooks"
    hooks.mkdir()
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout", "pre-commit"):
        for folder in (hooks, repository.path / ".git/hooks"):
            folder.mkdir(exist_ok=True)
            (folder / name).symlink_to(evil(tmp_path, f"hook-{name}"))
    repository.git(setting, "core.hooksPath", str(hooks))


ATTRIBUTES = 'a filter=evil diff=evil\nb filter=EVIL\nc filter=lfs\n"q*" filter=a"b\\c\n'


def test_nothing_of_a_hostile_repository_is_run(repository, tmp_path):
    arm(repository, tmp_path)
    for name in "abcq":
        repository.write(name, "3")
    repository.write(".gitattributes", ATTRIBUTES)

    changes = repository.changes(*ALL)
    repository.capture()

    assert ran(tmp_path) == []
    assert {"a", "b", "c", "q"} <= {file.path for file in changes.base.files}


def test_but_a_person_who_asks_git_would_run_it(repository, tmp_path):
    """So that the test above shows something."""
    arm(repository, tmp_path)
    repository.git("config", "--unset", "alias.status")
    repository.write("a", "3")
    repository.write(".gitattributes", ATTRIBUTES)

    repository.git("status")

    assert {"ran-core.fsmonitor", "ran-filter.evil.clean"} <= set(ran(tmp_path))


def test_filters_of_included_settings_are_not_run_either(repository, tmp_path):
    included = tmp_path / "included"
    included.write_text(f'[filter "hidden"]\n\tclean = {evil(tmp_path, "hidden")}\n')
    repository.git("config", "include.path", str(included))
    repository.write(".gitattributes", "* filter=hidden\n")
    repository.write("a", "3")
    os.utime(repository.path / "c", (2, 2))

    repository.changes(BASE)

    assert ran(tmp_path) == []
    assert repository.seen.processes == 4


def test_nor_those_of_the_settings_of_a_worktree(repository, tmp_path):
    beside = Repository(tmp_path / "beside", made=False)
    repository.git("worktree", "add", "-q", "--detach", str(beside.path))
    beside.git("config", "extensions.worktreeConfig", "true")
    beside.git("config", "--worktree", "filter.w.clean", evil(tmp_path, "worktree"))
    beside.git("config", "filter.common.clean", evil(tmp_path, "common"))
    beside.write(".gitattributes", "a filter=w\nb filter=common\n")
    beside.write("a", "3")
    beside.write("b", "3")

    assert {"a", "b"} <= set(beside.changed())
    assert ran(tmp_path) == []


def hide_a_filter(repository, tmp_path):
    """Somebody names a filter after the first look."""
    repository.git("config", "filter.late.clean", evil(tmp_path, "late"))
    repository.write(".gitattributes", "* filter=late\n")
    repository.write("a", "4")


def test_nor_those_that_are_named_after_the_first_look(repository, tmp_path):
    """Hosts live long."""
    tree = WorkTree(str(repository.path))
    tree.changes([BASE])
    hide_a_filter(repository, tmp_path)
    tree.forget()

    assert ".gitattributes" in [file.path for file in tree.changes([BASE]).base.files]
    assert ran(tmp_path) == []


def test_nor_those_that_a_command_names(repository, tmp_path):
    tree = WorkTree(str(repository.path))
    tree.may_run = True
    tree.changes([BASE])
    tree.drift()
    hide_a_filter(repository, tmp_path)
    repository.write(".gitignore", "nothing\n")
    tree.drift()
    tree.update_after_commands()

    assert ".gitattributes" in [file.path for file in tree.changes([BASE]).base.files]
    assert ran(tmp_path) == []


def test_nor_those_of_settings_that_are_included_later(repository, tmp_path):
    included = repository.write("included")
    repository.git("config", "include.path", str(included))
    tree = WorkTree(str(repository.path))
    tree.changes([BASE])
    included.write_text(f'[filter "late"]\n\tclean = {evil(tmp_path, "late")}\n')
    repository.write(".gitattributes", "* filter=late\n")
    repository.write("a", "4")
    tree.forget()
    tree.changes([BASE])

    assert ran(tmp_path) == []


def test_a_filter_that_cannot_be_switched_off_is_refused(repository, tmp_path):
    config = repository.path / ".git/config"
    with config.open("a") as file:
        file.write(f'[filter "x=y"]\n\tclean = {evil(tmp_path, "equals")}\n')
    repository.write(".gitattributes", "* filter=x=y\n")

    with pytest.raises(BylawError, match=r"a filter `x=y`: Bylaw cannot disable it"):
        repository.changes(BASE)
    assert ran(tmp_path) == []


def test_settings_that_are_no_file_are_refused(repository, monkeypatch):
    monkeypatch.setattr(repository_module, "MAX_SETTINGS_BYTES", 10)

    with pytest.raises(BylawError, match="the settings of the repository are larger than 10 bytes"):
        repository.changes(BASE)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (b'[filter "a"]', {b"a"}),
        (b'[FILTER\t "A b"] # x', {b"A b"}),
        (b'[filter "a\\"]b\\\\"]', {b'a"]b\\'}),
        (b"[filter.Old]", {b"Old", b"old"}),
        (b'[core]\nx = [filter "more than there is"]', {b"more than there is"}),
        (b'[filters "a"]\n[ filter "b"]\n[filter]', set()),
    ],
)
def test_the_filters_that_settings_name(text, names):
    assert filter_names(text) == names


def test_a_lazy_fetch_starts_nothing(tmp_path):
    upstream = Repository(tmp_path / "upstream")
    upstream.git("config", "uploadpack.allowFilter", "true")
    upstream.git("config", "uploadpack.allowAnySHA1InWant", "true")
    upstream.commit(**{"d/a": "1"})
    upstream.commit(**{"d/a": "2"})
    clone = upstream.clone("clone", "--filter=tree:0")
    clone.git("remote", "set-url", "origin", f"ext::{evil(tmp_path, 'transport')}")
    clone.git("config", "remote.origin.uploadpack", evil(tmp_path, "uploadpack"))
    clone.git("config", "protocol.ext.allow", "always")
    clone.git("update-ref", "refs/remotes/origin/HEAD", "HEAD~1")
    clone.git("symbolic-ref", "-d", "refs/remotes/origin/HEAD")
    clone.git("update-ref", "refs/remotes/origin/main", "HEAD~1")

    with pytest.raises(BylawError, match="`git diff-tree` failed"):
        clone.changes(BASE)

    assert ran(tmp_path) == []


def test_variables_of_git_are_not_seen(repository, tmp_path, monkeypatch):
    other = Repository(tmp_path / "other")
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", evil(tmp_path, "external"))

    assert WorkTree(str(repository.path)).root == str(repository.path)
    assert not (tmp_path / "trace").exists()


def test_what_the_user_ignores_everywhere_is_ignored(repository, tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("untracked\n")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))

    assert "untracked" not in repository.changed()


def test_replaced_commits_do_not_hide_a_change(repository):
    left = repository.git("merge-base", "origin/main", "HEAD")
    repository.git("replace", left, "HEAD")

    assert repository.changed()["one"] == "added"


def test_names_of_branches_are_no_options(tmp_path):
    repository = Repository(tmp_path / "r")
    repository.commit(a="1")
    repository.git("update-ref", "refs/heads/--all", "HEAD")
    repository.git("symbolic-ref", "HEAD", "refs/heads/--all")
    repository.write("b", "1")

    assert repository.changed() == {"b": "added"}


def slow(tmp_path, text):
    program = tmp_path / "slow"
    # Not in the first line: a path with a blank could not stand there.
    body = tmp_path / "slow.py"
    body.write_text(text)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I "{body}" "$@"\n')
    program.chmod(0o755)
    return Git(str(program))


def test_git_has_a_time_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(git_module, "GIT_SECONDS", 0.5)

    with pytest.raises(BylawError, match=r"`git status` took longer than 0 s"):
        slow(tmp_path, "import time\ntime.sleep(60)\n").output("/", "status")


def test_also_one_that_says_nothing_more(tmp_path, monkeypatch):
    monkeypatch.setattr(git_module, "GIT_SECONDS", 0.5)
    text = "import os, time\nos.close(1)\nos.close(2)\ntime.sleep(60)\n"

    with pytest.raises(BylawError, match="took longer"):
        slow(tmp_path, text).output("/", "status")


def test_what_it_says_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(git_module, "MAX_GIT_OUTPUT", 1 << 20)
    text = "while True:\n    print('x' * 1000)\n"

    with pytest.raises(BylawError, match="is larger than 1 MiB"):
        slow(tmp_path, text).output("/", "status")


def test_complaints_without_end_keep_nobody(tmp_path):
    text = "import sys\nsys.stderr.write('fatal: x\\n' * 100_000)\nsys.exit(3)\n"

    with pytest.raises(BylawError, match="`git status` failed: x"):
        slow(tmp_path, text).output("/", "status")


def test_the_state_that_is_written_is_closed_to_others(repository):
    path = repository.path / repository.capture()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
