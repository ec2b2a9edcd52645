"""Baselines of prompts: what is captured, which one counts, and what changed since."""

import json
import os
import stat
import threading
from hashlib import sha256

import pytest
from git_repository import ALL, BASE, PROMPT, Repository

from bylaw.worktree.changes import WorkTree

NOON = 1705406400
FOLDER = ".deepwork/tmp/policy/baselines"


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "r")
    made.commit(a="1", b="1", c="1")
    return made


def of(text):
    return sha256(text.encode()).hexdigest()


def captured(repository, path):
    return json.loads((repository.path / path).read_text())


def since(repository):
    return repository.changed(PROMPT)


def test_a_baseline_says_what_was_staged_and_untracked(repository):
    """DW-123…DW-125, DW-A38, DW-A39."""
    repository.write("z staged", "s")
    repository.git("add", "z staged")
    repository.write("é", "u")
    repository.write("b", "2")
    repository.git("rm", "-q", "c")

    path = repository.capture(NOON + 0.9)

    assert path == f"{FOLDER}/prompt_{NOON}.json"
    assert captured(repository, path) == {
        "timestamp": "2024-01-16T12:00:00Z",
        "commit": repository.head,
        "staged_files": ["c", "z staged"],
        "untracked_files": ["é"],
        "digests": {"b": of("2"), "c": "", "z staged": of("s"), "é": of("u")},
    }


def test_it_is_for_this_user_and_not_for_git(repository):
    """DW-120, DW-121."""
    old = os.umask(0)
    try:
        path = repository.path / repository.capture()
    finally:
        os.umask(old)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert repository.git("status", "--porcelain", "-uall") == ""


def test_the_ref_is_the_time_stamp(repository):
    """DW-052."""
    repository.capture(NOON)

    assert repository.changes().prompt.ref == "2024-01-16T12:00:00Z"


def test_what_was_dirty_and_is_as_it_was_did_not_change(repository):
    """DW-127."""
    repository.write("a", "2")
    repository.write("staged", "x")
    repository.git("add", "staged")
    repository.write("untracked", "x")
    (repository.path / "b").unlink()
    repository.capture()

    assert since(repository) == {}
    assert len(repository.changed(BASE)) == 4


def test_further_edits_of_dirty_files_are_changes(repository):
    """DW-A39."""
    for name in ("a", "untracked", "mode"):
        repository.write(name, "2")
    (repository.path / "b").unlink()
    repository.capture()

    repository.write("a", "3")
    (repository.path / "untracked").unlink()
    (repository.path / "mode").chmod(0o755)
    repository.write("b", "1")
    repository.write("new", "x")

    assert since(repository) == {
        "a": "modified", "b": "added", "mode": "modified", "new": "added", "untracked": "deleted",
    }  # fmt: skip


def test_a_dirty_file_that_is_taken_back_changed(repository):
    repository.write("a", "2")
    repository.capture()
    repository.git("checkout", "-q", "a")

    assert since(repository) == {"a": "modified"}


def test_commits_since_the_prompt_are_changes(repository):
    repository.commit(before="x")
    repository.capture()
    repository.commit(a="2", new="x")
    repository.git("rm", "-q", "b")
    repository.commit()

    assert since(repository) == {"a": "modified", "b": "deleted", "new": "added"}


def test_committing_what_was_dirty_is_none(repository):
    repository.write("a", "2")
    repository.write("untracked", "x")
    repository.capture()
    repository.commit()

    assert since(repository) == {}


def test_a_commit_that_is_taken_back_is_none(repository):
    repository.capture()
    repository.commit(a="2")
    repository.git("revert", "--no-edit", "HEAD")

    assert since(repository) == {}


def test_going_back_behind_the_prompt_is_a_change(repository):
    repository.commit(new="x")
    repository.capture()
    repository.git("reset", "-q", "--hard", "HEAD~1")

    assert since(repository) == {"new": "deleted"}


def test_another_branch_is_a_change_of_its_files(repository):
    repository.capture()
    repository.git("checkout", "-q", "-b", "other")
    repository.commit(other="x")

    assert since(repository) == {"other": "added"}


def test_what_is_staged_alone_counts_if_it_is_so_since_the_prompt(repository):
    """DW-127: what was staged then is no change, what is staged since is one."""
    repository.write("a", "2")
    repository.git("add", "a")
    repository.write("a", "1")
    repository.write("b", "2")
    path = repository.capture()
    blob = repository.git("rev-parse", ":a")
    assert captured(repository, path)["staged"] == {"a": f"blob {blob}"}
    assert since(repository) == {}

    repository.git("commit", "-q", "-m", "x")
    assert since(repository) == {}

    repository.write("b", "3")
    repository.git("add", "b")
    repository.write("b", "2")
    repository.git("rm", "-q", "--cached", "c")
    assert since(repository) == {"b": "modified", "c": "deleted"}


def test_the_latest_prompt_counts(repository):
    """DW-126."""
    repository.capture(NOON)
    repository.write("a", "2")
    repository.capture(NOON + 10)
    repository.write("b", "2")

    assert len(list((repository.path / FOLDER).iterdir())) == 2
    assert since(repository) == {"b": "modified"}


def test_prompts_within_one_second_do_not_overwrite_one_another(repository):
    """DW-A40: numbered up, and the tenth is later than the second."""
    for number in range(1, 12):
        repository.write("a", f"{number}")
        path = repository.capture(NOON)

    assert path.endswith(f"prompt_{NOON}-11.json")
    assert since(repository) == {}


def test_a_clock_that_was_set_back_does_not_make_a_prompt_the_older_one(repository):
    repository.capture(NOON + 3600)
    repository.write("a", "2")

    path = repository.capture(NOON)

    assert path.endswith(f"prompt_{NOON + 3600}-2.json")
    assert captured(repository, path)["timestamp"] == "2024-01-16T13:00:00Z"
    assert since(repository) == {}


def test_without_a_prompt_head_counts_and_that_is_noted(repository):
    repository.write("a", "2")

    assert since(repository) == {"a": "modified"}
    assert repository.changes(PROMPT).prompt.ref == repository.head
    assert repository.seen.notes == ("no prompt was captured: `prompt` is compared with HEAD",)
    assert repository.seen.processes == 2
    assert not (repository.path / ".deepwork").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"timestamp": "x"}', '{"commit": "--all"}'])
def test_of_one_that_cannot_be_read_the_older_one_takes_the_place(repository, text):
    repository.capture(NOON)
    repository.write("a", "2")
    (repository.path / repository.capture(NOON + 1)).write_text(text)

    assert since(repository) == {"a": "modified"}
    note = f"the baseline `prompt_{NOON + 1}.json` cannot be read: an older one is used"
    assert repository.seen.notes == (note,)


@pytest.mark.parametrize("commit", ["--all", "HEAD", "0" * 39, f"{'0' * 40}\n"])
def test_what_is_no_commit_is_never_given_to_git(repository, commit):
    path = repository.path / repository.capture(NOON)
    path.write_text(json.dumps({**json.loads(path.read_text()), "commit": commit}))

    assert since(repository) == {}
    assert "cannot be read" in repository.seen.notes[0]


@pytest.mark.parametrize("commit", ["0" * 40, "f" * 40, "0" * 64])
def test_a_commit_that_is_gone_is_noted(repository, commit):
    path = repository.path / repository.capture(NOON)
    path.write_text(json.dumps({**json.loads(path.read_text()), "commit": commit}))
    repository.write("a", "2")

    assert since(repository) == {"a": "modified"}
    note = "the commit of the last prompt is gone: HEAD is used instead"
    assert repository.seen.notes == (note,)


def test_a_prompt_before_the_first_commit(tmp_path):
    repository = Repository(tmp_path / "r")
    repository.write("a", "1")
    path = repository.capture()
    assert captured(repository, path)["commit"] == ""
    assert since(repository) == {}

    repository.commit(b="1")

    assert since(repository) == {"b": "added"}


def test_a_first_commit_without_files_changes_nothing(tmp_path):
    repository = Repository(tmp_path / "r")
    repository.capture()
    repository.commit()
    repository.write("b", "1")

    assert since(repository) == {"b": "added"}


def test_a_prompt_after_which_all_commits_are_left(repository):
    repository.capture()
    repository.git("checkout", "-q", "--orphan", "other")
    repository.git("rm", "-q", "--cached", "b")
    repository.write("a", "2")
    (repository.path / "c").unlink()

    assert since(repository) == {"a": "modified", "b": "deleted", "c": "deleted"}


def test_names_that_are_no_utf8_are_captured(repository):
    repository.write(os.fsdecode(b"\xff.py"), "1")
    repository.capture()
    assert since(repository) == {}

    repository.write(os.fsdecode(b"\xff.py"), "2")

    assert since(repository) == {r"\u{dcff}.py": "modified"}


def test_sessions_that_capture_at_once_keep_all(repository):
    """Facts bug 21."""
    paths = []

    def capture():
        paths.extend(repository.capture(NOON) for _ in range(5))

    threads = [threading.Thread(target=capture) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(paths)) == 30
    names = {path.name for path in (repository.path / FOLDER).iterdir()}
    assert names == {path.rpartition("/")[2] for path in paths}
    for path in paths:
        assert captured(repository, path)["commit"] == repository.head


def test_only_the_latest_is_read(repository):
    """The others may accumulate: a pipe among them would hang whoever reads it as a file."""
    for number in range(50):
        repository.capture(NOON + number)
    folder = repository.path / FOLDER
    for path in sorted(folder.iterdir())[:-1]:
        path.write_text("broken")
    os.mkfifo(folder / "prompt_1.json")

    assert since(repository) == {}
    assert repository.seen.notes == ()


def test_the_baseline_does_not_hold_contents(repository):
    repository.write("secret", "very secret")

    assert "very" not in (repository.path / repository.capture()).read_text()


def test_capturing_takes_two_processes(repository):
    tree = WorkTree(str(repository.path))
    tree.capture()

    assert tree.processes == 2


def test_all_three_together(repository):
    left = repository.head
    repository.git("checkout", "-q", "-b", "work")
    repository.commit(one="x")
    repository.capture(NOON)
    repository.commit(two="x")

    changes = repository.changes(*ALL)

    assert [file.path for file in changes.base.files] == ["one", "two"]
    assert [file.path for file in changes.prompt.files] == ["two"]
    assert changes.base.ref == changes.default_tip.ref == left
    assert repository.seen.processes == 3
