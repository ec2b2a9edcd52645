"""Work trees that anything was done to: what we see is what git sees once all of it is staged.

And what it sees in the index: that is what the next commit changes.
"""

import os
import random
import shutil
from contextlib import suppress

import pytest
from git_repository import BASE, PROMPT, Repository

NAMES = ["a", "b", "d/a", "d/b", "d/e/a", "é", "new\nline"]
STATUS = {"A": "added", "M": "modified", "D": "deleted", "T": "modified"}


def write(repository, chance, path):
    if (repository.path / path).is_symlink():
        (repository.path / path).unlink()
    with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
        repository.write(path, chance.choice("12"))


def link(repository, chance, path):
    with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
        (repository.path / path).unlink()
        (repository.path / path).symlink_to(chance.choice("12"))


def remove(repository, _, path):
    with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
        (repository.path / path).unlink()


def change_mode(repository, chance, path):
    if (repository.path / path).is_file() and not (repository.path / path).is_symlink():
        (repository.path / path).chmod(chance.choice([0o644, 0o755]))


def touch(repository, chance, path):
    with suppress(FileNotFoundError, NotADirectoryError):
        os.utime(repository.path / path, (chance.randrange(9), 1), follow_symlinks=False)


def run_git(*arguments):
    def act(repository, _, path):
        with suppress(AssertionError):  # of what is not there, git complains
            repository.git(*arguments, "--", path)

    return act


def commit(repository, _, __):
    with suppress(AssertionError):  # nothing is staged
        repository.git("commit", "-q", "-m", "x")


# Not `add -N`: of a file that is announced and then gone, git says that HEAD had an empty one.
ACTS = [write, write, write, link, remove, remove, change_mode, touch, commit,
        run_git("add", "-A"), run_git("add", "-A"), run_git("reset", "-q"),
        run_git("rm", "-q", "--cached"), run_git("checkout", "-q")]  # fmt: skip


def act(repository, chance, times):
    for _ in range(times):
        chance.choice(ACTS)(repository, chance, chance.choice(NAMES))


def as_git_sees_it(repository, commit):
    """Of a copy in which everything is staged."""
    copy = Repository(repository.path.parent / "copy", made=False)
    shutil.copytree(repository.path, copy.path, symlinks=True)
    copy.git("add", "-A")
    found = in_index(copy, commit)
    shutil.rmtree(copy.path)
    return found


def in_index(repository, commit):
    """How the index differs from a commit."""
    told = repository.git("diff", "--cached", "--name-status", "--no-renames", "-z", commit)
    words = told.split("\0")
    return {path: STATUS[how] for how, path in zip(words[::2], words[1::2], strict=False)}


def only_in_index(repository):
    """The content of what the next commit has and the work tree has not."""
    told = repository.git("ls-files", "-s", "-z").split("\0")
    names = {path: about.split()[1] for about, _, path in (line.partition("\t") for line in told)
             if path}  # fmt: skip
    differing = repository.git("diff", "--name-only", "--no-renames", "-z").split("\0")
    untracked = repository.git("ls-files", "--others", "-z").split("\0")
    return {path: names.get(path, "") for path in {*differing, *untracked} if path}


def files(repository):
    """Everything that lies there: the kind of file, and its content."""
    return {
        str(path.relative_to(repository.path)): (
            "link", str(path.readlink())) if path.is_symlink() else (
            os.access(path, os.X_OK), path.read_text())
        for path in repository.path.rglob("*")
        if (path.is_symlink() or path.is_file())
        and path.relative_to(repository.path).parts[0] not in {".git", ".deepwork"}
    }  # fmt: skip


def difference(before, after):
    found = {path: "added" if path in after else "deleted" for path in before.keys() ^ after.keys()}
    both = before.keys() & after.keys()
    return found | {path: "modified" for path in both if before[path] != after[path]}


@pytest.mark.parametrize("seed", range(6))
def test_anything_that_is_done_to_a_work_tree_is_seen(tmp_path, seed):
    chance = random.Random(seed)
    repository = Repository(tmp_path / "r")
    left = repository.commit(**{"a": "1", "b": "1", "d/a": "1", "d/b": "1"})
    repository.git("checkout", "-q", "-b", "work")

    for _ in range(6):
        act(repository, chance, 12)
        expected = in_index(repository, left) | as_git_sees_it(repository, left)
        assert repository.changed(BASE) == expected
        repository.capture()
        before, head, known = files(repository), repository.head, only_in_index(repository)
        act(repository, chance, 8)
        since = only_in_index(repository).items() - known.items()
        index = in_index(repository, head)
        expected = {path: index[path] for path, _ in since if path in index}
        expected |= difference(before, files(repository))
        assert repository.changed(PROMPT) == expected
