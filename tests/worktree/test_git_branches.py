"""Which commits the baselines `base` and `default_tip` are, in every kind of repository."""

import os
import shutil

import pytest
from git_repository import ALL, BASE, PROMPT, TIP, Repository, git

from bylaw.model.errors import BylawError
from bylaw.worktree.changes import WorkTree

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
EMPTY_SHA256 = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"


@pytest.fixture
def upstream(tmp_path):
    made = Repository(tmp_path / "upstream")
    made.commit(a="1")
    return made


def refs(repository):
    changes = repository.changes()
    return changes.base.ref, changes.default_tip.ref


def test_base_is_where_the_branch_left_and_tip_what_the_remote_has(upstream):
    """DW-050, DW-051: full hashes."""
    left = upstream.head
    clone = upstream.clone("clone")
    clone.git("checkout", "-q", "-b", "work")
    clone.commit(mine="x")
    tip = upstream.commit(theirs="x")
    clone.git("fetch", "-q")

    assert refs(clone) == (left, tip)
    assert clone.changed(BASE) == {"mine": "added"}
    assert clone.changed(TIP) == {"mine": "added", "theirs": "deleted"}
    assert clone.seen.notes == ()


def test_the_local_branch_is_not_the_tip_while_there_is_a_remote(upstream):
    clone = upstream.clone("clone")
    tip = clone.head
    clone.commit(mine="x")

    assert refs(clone) == (tip, tip)
    assert clone.changed(TIP) == {"mine": "added"}


@pytest.mark.parametrize("name", ["release/x", "release/main", "trunk", "é"])
def test_a_default_branch_may_have_any_name(tmp_path, name):
    upstream = Repository(tmp_path / "upstream", branch=name)
    tip = upstream.commit(a="1")
    clone = upstream.clone("clone")
    clone.commit(mine="x")

    assert refs(clone) == (tip, tip)


@pytest.mark.parametrize("name", ["main", "master"])
def test_without_a_head_of_the_remote_its_main_or_master_counts(tmp_path, name):
    upstream = Repository(tmp_path / "upstream", branch=name)
    tip = upstream.commit(a="1")
    clone = upstream.clone("clone")
    clone.git("remote", "set-head", "origin", "--delete")
    clone.commit(mine="x")

    assert refs(clone) == (tip, tip)


def test_a_head_of_the_remote_that_leads_nowhere_counts_as_none(upstream):
    clone = upstream.clone("clone")
    clone.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")
    clone.commit(mine="x")

    assert refs(clone) == (upstream.head, upstream.head)


def test_origin_counts_before_other_remotes(upstream):
    other = upstream.clone("other")
    other.commit(other="x")
    clone = upstream.clone("clone")
    clone.git("remote", "add", "another", f"file://{other.path}")
    clone.git("fetch", "-q", "another")
    clone.git("remote", "set-head", "another", "main")

    assert refs(clone) == (upstream.head, upstream.head)


def test_a_remote_may_have_any_name(upstream):
    clone = upstream.clone("clone", "-o", "team/fork")
    clone.commit(mine="x")

    assert refs(clone) == (upstream.head, upstream.head)


def test_a_branch_that_ends_like_a_default_one_is_none(upstream):
    upstream.git("branch", "feature/main")
    upstream.git("branch", "-m", "main", "trunk")
    clone = upstream.clone("clone")
    clone.git("remote", "set-head", "origin", "--delete")
    clone.git("branch", "-m", "trunk", "work")
    first = clone.head
    clone.commit(mine="x")

    assert refs(clone) == (first, first)
    assert clone.changed() == {"mine": "added"}
    assert clone.seen.notes == ("default branch not found: compared with the first commit",)


@pytest.mark.parametrize("name", ["main", "master"])
def test_without_a_remote_the_local_branch_counts(tmp_path, name):
    """DW-A12, facts bug 4."""
    repository = Repository(tmp_path / "r", branch=name)
    left = repository.commit(a="1")
    repository.git("checkout", "-q", "-b", "work")
    repository.commit(mine="x")

    assert refs(repository) == (left, left)
    assert repository.changed() == {"mine": "added"}
    note = f"no remote has a default branch: compared with `refs/heads/{name}`"
    assert repository.seen.notes == (note,)


def test_main_counts_before_master(tmp_path):
    repository = Repository(tmp_path / "r", branch="master")
    repository.commit(a="1")
    repository.git("checkout", "-q", "-b", "main")
    tip = repository.commit(b="1")
    repository.git("checkout", "-q", "-b", "work")

    assert refs(repository) == (tip, tip)


def test_without_any_known_branch_the_first_commit_counts(tmp_path):
    repository = Repository(tmp_path / "r", branch="trunk")
    first = repository.commit(a="1")
    repository.commit(b="1")
    repository.git("checkout", "-q", "--orphan", "other")
    repository.git("commit", "-q", "-m", "another first one")
    repository.git("checkout", "-q", "trunk")
    repository.git("merge", "-q", "--allow-unrelated-histories", "-m", "x", "other")

    assert refs(repository) == (first, first)
    assert repository.changed() == {"b": "added"}
    assert repository.seen.processes == 4


def test_a_detached_head_is_no_trouble(upstream):
    clone = upstream.clone("clone")
    left = clone.head
    clone.git("checkout", "-q", "--detach")
    clone.commit(mine="x")

    assert refs(clone) == (left, left)
    assert clone.changed() == {"mine": "added"}


@pytest.mark.parametrize(("hash_name", "empty"), [("sha1", EMPTY), ("sha256", EMPTY_SHA256)])
def test_without_a_commit_every_file_is_new(tmp_path, hash_name, empty):
    git(tmp_path, "init", "-q", f"--object-format={hash_name}", "r")
    repository = Repository(tmp_path / "r", made=False)
    repository.write("staged", "x")
    repository.git("add", "staged")
    repository.write("untracked", "x")

    for baseline in ALL:
        assert repository.changed(baseline) == {"staged": "added", "untracked": "added"}
    changes = repository.changes()
    assert {changes.base.ref, changes.default_tip.ref, changes.prompt.ref} == {empty}
    assert repository.seen.processes == 2
    assert "HEAD has no commit yet: every file is new" in repository.seen.notes


def test_a_repository_with_long_hashes(tmp_path):
    git(tmp_path, "init", "-q", "--object-format=sha256", "-b", "main", "r")
    repository = Repository(tmp_path / "r", made=False)
    left = repository.commit(a="1", b="1")
    repository.git("checkout", "-q", "-b", "work")
    repository.commit(a="2", b="2")
    repository.write("b", "1")
    repository.git("add", "b")

    assert refs(repository) == (left, left)
    assert repository.changed() == {"a": "modified"}


@pytest.mark.parametrize("has_remote", [False, True])
def test_a_branch_without_a_commit_is_compared_with_the_default_branch(upstream, has_remote):
    """DW-051: what is as in its tip is no change, also where HEAD is nothing yet."""
    upstream.commit(b="1", c="1", d="1")
    repository = upstream.clone("clone") if has_remote else upstream
    repository.git("checkout", "-q", "--orphan", "other")
    repository.git("rm", "-q", "--cached", "c", "d")
    (repository.path / "d").unlink()
    repository.write("b", "2")
    repository.write("new", "x")
    tip = upstream.git("rev-parse", "main")
    default = "refs/remotes/origin/HEAD" if has_remote else "refs/heads/main"

    assert refs(repository) == (tip, tip)
    assert repository.seen.processes == 4
    how = f"`base` is compared with the tip of `{default}`"
    note = f"HEAD and the default branch share no commit: {how}"
    assert note in repository.seen.notes
    assert not [one for one in repository.seen.notes if "new" in one]
    for baseline in (BASE, TIP):
        changed = repository.changed(baseline)
        assert changed == {"b": "modified", "c": "deleted", "d": "deleted", "new": "added"}


def test_it_is_all_new_where_no_branch_is_the_default_one(tmp_path):
    repository = Repository(tmp_path / "r", branch="trunk")
    repository.commit(a="1")
    repository.git("checkout", "-q", "--orphan", "other")

    assert refs(repository) == (EMPTY, EMPTY)
    assert repository.changed() == {"a": "added"}
    assert repository.seen.notes == ("HEAD has no commit yet: every file is new",)


def test_what_a_prompt_captured_on_a_branch_without_a_commit(upstream):
    upstream.git("checkout", "-q", "--orphan", "other")
    upstream.capture()
    upstream.write("new", "x")

    assert upstream.changed(PROMPT) == {"new": "added"}
    assert upstream.changed(TIP) == {"new": "added"}


def test_histories_without_a_common_commit(upstream):
    upstream.git("checkout", "-q", "--orphan", "other")
    upstream.commit(b="1")
    tip = upstream.git("rev-parse", "main")

    assert refs(upstream) == (tip, tip)
    assert upstream.changed() == {"b": "added"}
    assert "HEAD and the default branch share no commit" in upstream.seen.notes[-1]


def test_a_shallow_clone_that_does_not_know_where_the_branch_left(upstream):
    upstream.git("checkout", "-q", "-b", "work")
    upstream.commit(b="1")
    upstream.commit(c="1")
    upstream.git("checkout", "-q", "main")
    upstream.commit(theirs="1")
    clone = upstream.clone("clone", "--depth=1", "--no-single-branch")
    clone.git("checkout", "-q", "work")

    assert refs(clone) == (upstream.head, upstream.head)
    assert clone.changed() == {"b": "added", "c": "added", "theirs": "deleted"}
    assert "in this shallow clone" in clone.seen.notes[-1]


def test_a_shallow_clone_of_one_branch(upstream):
    upstream.git("checkout", "-q", "-b", "work")
    upstream.commit(b="1")
    upstream.git("checkout", "-q", "main")
    clone = upstream.clone("clone", "--depth=1", "--branch=work")
    clone.write("new", "x")

    assert clone.changed() == {"new": "added"}
    assert clone.seen.notes == ("default branch not found: compared with the first commit",)


def test_a_partial_clone(upstream):
    upstream.git("config", "uploadpack.allowFilter", "true")
    clone = upstream.clone("clone", "--filter=blob:none")
    clone.git("checkout", "-q", "-b", "work")
    clone.commit(mine="x")
    clone.write("a", "2")

    assert clone.changed() == {"a": "modified", "mine": "added"}


def test_a_sparse_checkout(tmp_path):
    repository = Repository(tmp_path / "r")
    repository.commit(**{"in/a": "1", "out/b": "1", "out/c": "1"})
    repository.git("checkout", "-q", "-b", "work")
    repository.commit(**{"in/a": "2", "out/b": "2"})
    repository.git("sparse-checkout", "set", "in")

    assert not (repository.path / "out").exists()
    assert repository.changed() == {"in/a": "modified", "out/b": "modified"}
    blob = repository.git("rev-parse", "HEAD:out/b")
    assert repository.digests()["out/b"] == f"blob {blob}"
    assert repository.changed(PROMPT) == {}


def test_a_worktree_is_looked_at_by_itself(upstream):
    """DW-A42."""
    beside = upstream.path.parent / "beside"
    upstream.git("worktree", "add", "-q", "-b", "work", str(beside))
    worktree = Repository(beside, made=False)
    worktree.write("mine", "x")
    upstream.write("theirs", "x")

    assert worktree.changed() == {"mine": "added"}
    assert worktree.seen.root == str(beside)
    assert upstream.changed() == {"theirs": "added"}


def test_any_folder_below_stands_for_the_whole_work_tree(upstream):
    """Facts bug 18."""
    upstream.write("deep/er/x", "1")
    upstream.write("y", "1")

    changes = upstream.changes(BASE, start="deep/er")

    assert upstream.seen.root == str(upstream.path)
    assert [file.path for file in changes.base.files] == ["deep/er/x", "y"]


def test_a_link_to_the_folder_leads_there(upstream, tmp_path):
    (tmp_path / "link").symlink_to(upstream.path)

    assert WorkTree(str(tmp_path / "link")).root == str(upstream.path)


def test_the_root_may_have_any_name(tmp_path):
    path = tmp_path / "new\nline é"
    path.mkdir()
    repository = Repository(path)
    repository.write("x", "1")

    assert repository.changed() == {"x": "added"}
    assert repository.seen.root == str(path)


def test_a_repository_inside_is_one_file_of_the_outer_one(upstream):
    inner = Repository(upstream.path / "inner")
    inner.write("x", "1")

    assert upstream.changed() == {"inner": "added"}
    before = upstream.digests()
    commit = inner.commit()
    assert upstream.digests() == {"inner": f"commit {commit}"} != before
    assert inner.changed() == {}
    assert inner.seen.root == str(inner.path)


@pytest.fixture
def outer(upstream, tmp_path):
    outer = Repository(tmp_path / "outer")
    outer.git("submodule", "--quiet", "add", f"file://{upstream.path}", "sub")
    outer.commit()
    outer.git("checkout", "-q", "-b", "work")
    return outer


def test_a_submodule_is_a_file_that_changes_with_its_commit(outer):
    sub = Repository(outer.path / "sub", made=False)
    sub.write("untracked", "x")
    assert outer.changed() == {}

    commit = sub.commit()

    assert outer.changed() == {"sub": "modified"}
    assert outer.digests() == {"sub": f"commit {commit}"}
    outer.commit()
    assert outer.digests() == {"sub": f"commit {commit}"}
    sub.git("checkout", "-q", "HEAD~1")
    assert outer.changed() == {"sub": "modified"}  # the commit has it still
    assert sub.seen is None


def test_a_submodule_on_a_branch_that_is_packed(outer):
    sub = Repository(outer.path / "sub", made=False)
    commit = sub.commit(x="1")
    sub.git("pack-refs", "--all")

    assert outer.digests() == {"sub": f"commit {commit}"}


def test_a_submodule_that_is_not_there_is_no_change(outer):
    outer.git("submodule", "--quiet", "deinit", "-f", "sub")
    assert outer.changed() == {}

    outer.git("rm", "-q", "sub")

    assert outer.changed() == {".gitmodules": "modified", "sub": "deleted"}


def test_no_repository_is_an_error(tmp_path):
    with pytest.raises(BylawError, match=r"is not in a git repository$"):
        WorkTree(str(tmp_path)).changes(ALL)


def test_a_bare_repository_is_an_error(tmp_path):
    git(tmp_path, "init", "-q", "--bare", "bare")

    with pytest.raises(BylawError, match="is in a bare repository: there is no work tree"):
        _ = WorkTree(str(tmp_path / "bare")).root


def test_so_is_the_folder_of_git_itself(upstream):
    with pytest.raises(BylawError, match="is inside the folder of git"):
        _ = WorkTree(str(upstream.path / ".git")).root


def test_so_is_no_folder_at_all(tmp_path):
    with pytest.raises(BylawError, match="`git rev-parse` failed: cannot change to"):
        _ = WorkTree(str(tmp_path / "none")).root


def test_so_is_no_git(upstream):
    with pytest.raises(BylawError, match="cannot start git: file not found"):
        _ = WorkTree(str(upstream.path), program="/nowhere/git").root


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder to another user")
def test_so_is_a_repository_of_another_user(upstream):
    for path in (upstream.path, upstream.path / ".git"):
        os.chown(path, 12345, 12345)

    with pytest.raises(
        BylawError, match=r"belongs to another user; if you trust it, run `git config"
    ):
        upstream.changes()


def test_a_repository_that_is_broken_is_an_error(upstream):
    shutil.rmtree(upstream.path / ".git/objects")
    (upstream.path / ".git/objects").mkdir()

    with pytest.raises(BylawError, match=r"`git .*` failed: "):
        upstream.changes()


def test_settings_do_not_lead_to_the_files_of_others(upstream, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    upstream.git("config", "core.worktree", str(tmp_path / "elsewhere"))

    with pytest.raises(BylawError, match="git reports another work tree"):
        upstream.changes()


def test_paths_are_normal(upstream):
    """DW-034, DW-137: git tells no others, whatever the folder is called that one starts in."""
    upstream.write("d/e/x", "1")

    changes = upstream.changes(BASE, start="d/../d/./e")

    assert [file.path for file in changes.base.files] == ["d/e/x"]


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_branch_that_moves_is_asked_for_again(upstream, is_packed):
    """Hosts live long, and somebody fetches meanwhile."""
    clone = upstream.clone("clone")
    clone.git("checkout", "-q", "-b", "work")
    if is_packed:
        clone.git("pack-refs", "--all")
    tree = WorkTree(str(clone.path))
    first = tree.changes(ALL)
    for text in "12":
        tip = upstream.commit(theirs=text)
        clone.git("fetch", "-q")
        tree.forget()

        assert tree.changes(ALL).default_tip.ref == tip
        assert tree.changes(ALL).base.ref == first.base.ref
    tree.forget()
    clone.git("merge", "-q", "--ff-only", "origin/main")
    assert tree.changes(ALL).base.ref == tip


def test_so_is_one_that_comes_later(upstream):
    clone = upstream.clone("clone")
    clone.git("checkout", "-q", "-b", "work")
    clone.git("remote", "rename", "origin", "theirs")
    clone.git("remote", "add", "origin", f"file://{upstream.path}")
    tree = WorkTree(str(clone.path))
    first = tree.changes(ALL)
    tip = upstream.commit(theirs="1")
    clone.git("fetch", "-q", "origin")
    tree.forget()

    assert first.default_tip.ref != tip
    assert tree.changes(ALL).default_tip.ref == tip


def test_each_look_takes_two_processes(upstream):
    tree = WorkTree(str(upstream.clone("clone").path))
    for number in (1, 2, 3):
        tree.changes(ALL)
        tree.forget()
        assert tree.processes == 2 * number
