"""What changed in a work tree: every state that a file can be in, against each baseline."""

import os
from hashlib import sha256

import pytest
from git_repository import ALL, BASE, PROMPT, TIP, Repository
from msgspec import UNSET, json

from bylaw.model.facts import Changes
from bylaw.worktree.changes import WorkTree
from bylaw.worktree.git import file_bytes


@pytest.fixture
def repository(tmp_path):
    """With a remote that has three files, and a branch of our own."""
    upstream = Repository(tmp_path / "upstream")
    upstream.commit(a="1\n", b="1\n", c="1\n")
    clone = upstream.clone("clone")
    clone.git("checkout", "-q", "-b", "work")
    clone.upstream = upstream
    return clone


def of(text):
    return sha256(text.encode()).hexdigest()


def test_nothing_wanted_needs_no_git(repository):
    tree = WorkTree(str(repository.path), program="/nowhere/git")

    assert tree.changes(()) == Changes()
    assert tree.processes == 0


def test_only_what_is_wanted_is_there(repository):
    changes = repository.changes(TIP)

    assert changes.base is UNSET
    assert changes.prompt is UNSET
    assert changes.default_tip.files == ()


def test_nothing_changed(repository):
    assert repository.changed(BASE) == {}
    assert repository.changed(TIP) == {}


def test_committed_staged_dirty_untracked_and_deleted_files_changed(repository):
    """DW-041."""
    repository.commit(committed="x")
    repository.write("staged", "x")
    repository.git("add", "staged")
    repository.write("a", "2\n")
    repository.write("deep/er/new", "x")
    (repository.path / "b").unlink()
    repository.git("rm", "-q", "c")

    assert repository.changed() == {
        "a": "modified", "b": "deleted", "c": "deleted", "committed": "added",
        "deep/er/new": "added", "staged": "added",
    }  # fmt: skip
    digests = repository.digests()
    assert digests["a"] == of("2\n")
    assert digests["b"] == digests["c"] == ""


def test_ignored_files_do_not(repository):
    repository.write(".gitignore", "*.log\n")
    repository.write("x.log")
    repository.write("sub/x.log")

    assert repository.changed() == {".gitignore": "added"}


def test_a_file_that_is_only_touched_does_not(repository):
    os.utime(repository.path / "a", (1, 1))

    assert repository.changed() == {}


def test_a_changed_mode_does(repository):
    (repository.path / "a").chmod(0o755)

    assert repository.changed() == {"a": "modified"}
    assert repository.digests() == {"a": of("1\n") + " x"}


def test_a_link_in_the_place_of_a_file_does(repository):
    (repository.path / "a").unlink()
    (repository.path / "a").symlink_to("b")

    assert repository.changed() == {"a": "modified"}
    assert repository.digests() == {"a": f"link {of('b')}"}


def test_a_commit_that_is_undone_in_the_work_tree_alone_is_still_there(repository):
    """Whoever looks at the commits finds it, so it counts, with what the commits have."""
    repository.commit(a="2\n", new="x")
    repository.write("a", "1\n")
    (repository.path / "new").unlink()

    assert repository.changed() == {"a": "modified", "new": "added"}
    assert repository.digests() == {one: staged_blob(repository, one) for one in ("a", "new")}


def test_a_commit_that_is_reverted_is_no_change(repository):
    repository.commit(a="2\n", new="x")
    repository.write("a", "1\n")
    (repository.path / "new").unlink()
    repository.git("add", "-A")

    assert repository.changed() == {}


def staged_blob(repository, path):
    return f"blob {repository.git('rev-parse', f':{path}')}"


def test_what_is_staged_and_taken_back_in_the_work_tree_is_in_the_next_commit(repository):
    """DW-041: its content is that of the index, so another one is looked at anew (DW-A19)."""
    for text in ("2\n", "3\n"):
        repository.write("a", text)
        repository.git("add", "a")
        repository.write("a", "1\n")

        assert repository.git("status", "--porcelain") == "MM a"
        for baseline in ALL:
            assert repository.changed(baseline) == {"a": "modified"}
            assert repository.digests(baseline) == {"a": staged_blob(repository, "a")}

    repository.git("reset", "-q")
    assert repository.changed() == {}


def test_what_is_staged_as_new_and_gone_from_the_work_tree_is_added(repository):
    repository.write("new", "x")
    repository.git("add", "new")
    (repository.path / "new").unlink()

    assert repository.git("status", "--porcelain") == "AD new"
    for baseline in ALL:
        assert repository.changed(baseline) == {"new": "added"}
        assert repository.digests(baseline) == {"new": staged_blob(repository, "new")}


def test_of_a_file_that_is_staged_and_edited_further_the_work_tree_counts(repository):
    repository.write("a", "2\n")
    repository.git("add", "a")
    repository.write("a", "3\n")

    assert repository.changed() == {"a": "modified"}
    assert repository.digests() == {"a": of("3\n")}


def test_what_is_staged_as_it_was_at_the_baseline_is_no_change(repository):
    repository.commit(a="2\n")
    repository.write("a", "1\n")
    repository.git("add", "a")
    assert repository.changed() == {}

    repository.write("a", "2\n")
    assert repository.git("status", "--porcelain") == "MM a"
    assert repository.changed() == {"a": "modified"}
    assert repository.changed(PROMPT) == {"a": "modified"}


def test_what_is_removed_from_the_index_alone_is_deleted_by_the_next_commit(repository):
    repository.git("rm", "-q", "--cached", "a")

    assert repository.changed() == {"a": "deleted"}
    repository.write("a", "2\n")
    assert repository.changed() == {"a": "modified"}


def test_a_deleted_file_that_is_there_again_with_another_content_is_modified(repository):
    repository.git("rm", "-q", "a")
    repository.git("commit", "-q", "-m", "x")
    repository.write("a", "3\n")

    assert repository.changed() == {"a": "modified"}


def test_a_new_file_that_is_only_announced_is_added(repository):
    repository.write("new", "x")
    repository.git("add", "-N", "new")

    assert repository.changed() == {"new": "added"}


@pytest.mark.parametrize("how", ["git", "work tree", "committed"])
def test_a_renamed_file_is_two(repository, how):
    """DW-A30: deleted under one name, added under the other."""
    if how == "work tree":
        (repository.path / "a").rename(repository.path / "z")
    else:
        repository.git("mv", "a", "z")
    if how == "committed":
        repository.commit()

    assert repository.changed() == {"a": "deleted", "z": "added"}
    assert repository.digests() == {"a": "", "z": of("1\n")}


def test_one_content_has_one_digest_committed_or_not(repository):
    repository.write("a", "2\n")
    dirty = repository.digests()
    repository.git("add", "a")
    staged = repository.digests()
    repository.commit()

    assert dirty == staged == repository.digests() == {"a": of("2\n")}


def test_so_has_one_with_converted_line_ends(repository):
    repository.git("config", "core.autocrlf", "true")
    repository.write("a", "2\r\n")
    dirty = repository.digests()
    repository.commit()

    assert dirty == repository.digests() == {"a": of("2\r\n")}
    os.utime(repository.path / "a", (1, 1))
    assert repository.digests(PROMPT) == {}


def test_files_in_a_conflict_changed(repository):
    repository.commit(a="ours\n")
    repository.git("checkout", "-q", "-b", "other", "HEAD~1")
    repository.commit(a="theirs\n")
    repository.git("checkout", "-q", "work")
    with pytest.raises(AssertionError):
        repository.git("merge", "other")

    assert repository.changed() == {"a": "modified"}
    assert repository.changed(PROMPT) == {"a": "modified"}


NAMES = ["é.py", "日本.py", "a b", "it's", 'say "hi"', "back\\slash", "new\nline", "tab\t", "-x",
         "\u202e", "trailing ", "*", "🜁"]  # fmt: skip


@pytest.mark.parametrize("state", ["untracked", "staged", "committed"])
def test_odd_names_are_told_as_they_are(repository, state):
    """Facts bugs 3 and 20."""
    for name in NAMES:
        repository.write(name, "x")
    if state != "untracked":
        repository.git("add", "-A")
    if state == "committed":
        repository.git("commit", "-q", "-m", "x")

    assert repository.changed() == dict.fromkeys(sorted(NAMES), "added")


@pytest.mark.parametrize("state", ["untracked", "committed"])
def test_names_that_are_no_utf8_can_be_recorded_and_lead_back(repository, state):
    names = [b"\xff.py", b"a\xe9/b", rb"plain\u{dcff}.py", "é\xff".encode("latin-1")]
    for name in names:
        repository.write(os.fsdecode(name), "x")
    if state == "committed":
        repository.commit()

    changes = repository.changes()

    assert json.decode(json.encode(changes), type=Changes) == changes
    paths = [file.path for file in changes.base.files]
    assert r"\u{dcff}.py" in paths
    assert {file_bytes(path) for path in paths} == set(names)
    assert {file.digest for file in changes.base.files} == {of("x")}


def test_a_folder_in_the_place_of_a_file_and_a_file_in_the_place_of_a_folder(repository):
    repository.commit(**{"d/x": "1", "d/y": "1"})
    (repository.path / "a").unlink()
    repository.write("a/inside", "x")
    for name in "xy":
        (repository.path / "d" / name).unlink()
    (repository.path / "d").rmdir()
    repository.write("d", "x")

    assert repository.changed() == {
        "a": "deleted", "a/inside": "added", "d": "added", "d/x": "added", "d/y": "added",
    }  # fmt: skip
    assert repository.changed(PROMPT) == {
        "a": "deleted", "a/inside": "added", "d": "added", "d/x": "deleted", "d/y": "deleted",
    }  # fmt: skip


def test_no_link_leads_a_digest_out_of_the_work_tree(repository, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x").write_text("secret")
    repository.commit(**{"d/x": "1"})
    (repository.path / "d/x").unlink()
    (repository.path / "d").rmdir()
    (repository.path / "d").symlink_to(tmp_path / "outside")

    assert repository.changed(PROMPT) == {"d": "added", "d/x": "deleted"}
    assert of("secret") not in repository.digests(PROMPT).values()


def test_our_own_state_is_no_change(repository):
    repository.write(".deepwork/policy_state.json", "{}")
    repository.write(".deepwork/tmp/policy/queue/x.json", "{}")
    repository.write(".bylaw/state/journal", "x")
    repository.write(".deepwork/policies/x.md", "x")

    assert repository.changed() == {".deepwork/policies/x.md": "added"}


def test_many_files(repository):
    for number in range(600):
        repository.write(f"many/{number}", str(number))

    digests = repository.digests()

    assert digests == {f"many/{n}": of(str(n)) for n in range(600)}


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_of_what_git_is_told_not_to_look_at_the_work_tree_is_not_seen(repository, flag):
    """As `docs/policies.md` says; what is in a commit is."""
    repository.git("update-index", flag, "a")
    repository.write("a", "2\n")
    assert repository.changed() == {}

    blob = repository.git("hash-object", "-w", "a")
    repository.git("update-index", "--cacheinfo", f"100644,{blob},a")
    assert repository.changed() == {"a": "modified"}


def test_what_is_excluded_for_this_clone_alone_is_ignored(repository):
    (repository.path / ".git/info/exclude").write_text("hidden\n")
    repository.write("hidden", "x")
    assert repository.changed() == {}

    repository.git("add", "-f", "hidden")
    assert repository.changed() == {"hidden": "added"}
