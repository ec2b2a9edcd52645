"""Git in a real repository against protected files: refused is only what would change one."""

import os
import subprocess
import sys
from functools import partial
from shutil import copytree

import pytest

from bylaw.hosts.clients.base import Call
from bylaw.hosts.hooks.protect.protect import find_protected
from bylaw.hosts.protected_paths import Protection
from bylaw.runtime.rule_files import CONVENTION
from bylaw.runtime.settings import ProtectSettings
from bylaw.worktree.git import Git

# What people do every day; none of it reaches into the folder of git.
DAILY = """
git stash
git stash push
git stash push -m "before lunch"
git stash -u
git stash --include-untracked
git stash pop
git stash apply
git stash && git pull && git stash pop
git restore .
git restore --staged .
git restore --staged --worktree .
git restore --source=HEAD .
git restore :/
git reset
git reset HEAD .
git reset --hard
git reset --hard HEAD
git reset --hard && git clean -fd
git reset && git checkout .
git reset --soft HEAD
git reset --merge
git checkout .
git checkout -- .
git checkout HEAD -- .
git checkout -f
git checkout -f main
git switch --discard-changes main
git checkout-index -f -a
git clean -fd
git clean -fdx
git clean -fdX build
git rm -r --cached .
git commit -am x
git -C src checkout .
cd src && git checkout .
cd src && git stash && cd .. && make
find . -type f -exec chmod 644 {} +
cp -r . /tmp/x
rsync -a ./ /tmp/z/
"""
# What sets tracked files back.
SETS_BACK = """
git stash
git stash push -- .
git stash -m "before lunch"
git restore .
git restore -SW .
git restore :/
git restore ':(top)bylaw.toml'
git restore '*.toml'
git reset --hard
git reset && git checkout .
git checkout .
git checkout -- .
git checkout HEAD -- :/
git checkout -f
git checkout --force main
git switch --discard-changes main
git checkout-index -f -a
git -C src reset --hard
git -C "$PWD" reset --hard
git -C src -C "$PWD" stash
git -C / -C "$PWD/src" checkout ..
git -C "" reset --hard
cd src && git stash
cd src; git checkout ..
"""
# What leaves `bylaw.toml` alone, though it was changed.
SPARES = """
git checkout src
git checkout -- src/a.py
git restore src
git restore --staged .
git stash push -- src
git stash push src
git stash list
git reset
git clean -fd
cd src && git checkout .
git -C src restore .
git -C "$PWD/src" restore .
git -C "$PWD" checkout src
git checkout main
git checkout -b other
git status
"""


def git(root, *words):
    settings = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.hooksPath=")
    subprocess.run(["git", *settings, *words], cwd=root, check=True, capture_output=True)


def commit(root, message="x"):
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message)


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.fixture(scope="module")
def repositories(tmp_path_factory):
    """Two to be copied: one as people have it, and the same under rules that are committed."""
    top = tmp_path_factory.mktemp("repositories")
    (plain := top / "plain").mkdir()
    git(plain, "init", "-q", "-b", "main")
    write(plain, "src/a.py", "a = 1\n")
    write(plain, ".gitignore", "build\n")
    commit(plain)
    governed = copytree(plain, top / "governed")
    write(governed, "bylaw.toml", "[stop]\n")
    write(governed, "rules/a.toml", "x\n")
    write(governed, ".claude/settings.json", "{}\n")
    commit(governed)
    return top


def copied(repositories, name, tmp_path, monkeypatch):
    """With a changed source, a new file, and something ignored."""
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    top = copytree(repositories / name, tmp_path / "top")
    write(top, "src/a.py", "a = 2\n")
    write(top, "notes.txt", "new\n")
    write(top, "build/out.txt", "made\n")
    return top


@pytest.fixture
def root(repositories, tmp_path, monkeypatch):
    return copied(repositories, "plain", tmp_path, monkeypatch)


@pytest.fixture
def governed(repositories, tmp_path, monkeypatch):
    return copied(repositories, "governed", tmp_path, monkeypatch)


def found(root, text):
    call = Call(tool="Bash", also=("shell",), args={"command": text})
    files = (f"{root}/rules/a.toml",) if (root / "rules").exists() else ()
    protection = Protection(str(root), ProtectSettings(), files, CONVENTION)
    return [one.path for one in find_protected(call, str(root), protection)]


def lines(table):
    return table.strip().splitlines()


@pytest.mark.parametrize("text", lines(DAILY))
def test_daily_work_is_free_where_nothing_is_governed(root, text):
    assert found(root, text) == []


@pytest.mark.parametrize("text", [one for one in lines(DAILY) if "find" not in one])
def test_daily_work_is_free_where_no_protected_file_was_changed(governed, text):
    assert found(governed, text) == []


@pytest.mark.parametrize("text", lines(SETS_BACK))
def test_a_protected_file_that_was_changed_is_not_set_back(governed, text):
    write(governed, "bylaw.toml", "[stop]\nmax_blocks = 5\n")

    assert found(governed, text) == ["bylaw.toml"]


@pytest.mark.parametrize("text", lines(SPARES))
def test_what_leaves_it_alone_is_free(governed, text):
    write(governed, "bylaw.toml", "[stop]\nmax_blocks = 5\n")

    assert found(governed, text) == []


@pytest.mark.parametrize("text", ["git checkout .", "git stash", "git reset --hard"])
def test_one_that_was_taken_away_is_not_brought_back(governed, text):
    (governed / "rules/a.toml").unlink()

    assert found(governed, text) == ["rules/a.toml"]


@pytest.mark.parametrize(
    "text",
    [
        "git reset --hard HEAD~1",
        "git checkout HEAD~1 .",
        "git checkout HEAD~1 -- src rules",
        "git restore --source=HEAD~1 .",
        "git restore -s HEAD~1 :/",
        "git checkout -f HEAD~1",
        "git reset HEAD~1 && git checkout .",
        "git reset HEAD~1; git stash",
        "git reset --keep HEAD~1",
    ],
)
def test_an_older_commit_brings_other_rules(governed, text):
    write(governed, "rules/a.toml", "y\n")
    git(governed, "commit", "-q", "-m", "other", "rules/a.toml")

    assert found(governed, text) == ["rules/a.toml"]
    assert found(governed, text.replace("HEAD~1", "HEAD")) == []


@pytest.mark.parametrize("text", ["git checkout HEAD~1 src", "git restore -s HEAD~1 src"])
def test_what_is_taken_of_an_older_commit_may_be_something_else(governed, text):
    write(governed, "rules/a.toml", "y\n")
    git(governed, "commit", "-q", "-m", "other", "rules/a.toml")

    assert found(governed, text) == []


def test_files_that_git_does_not_know_are_taken_away_by_some(root):
    write(root, ".claude/settings.json", "{}\n")
    write(root, "bylaw.toml", "")

    assert found(root, "git clean -fd") == [".claude/settings.json", "bylaw.toml"]
    assert found(root, "git clean -f") == ["bylaw.toml"]
    assert found(root, "git clean -f -- .claude") == [".claude/settings.json"]
    assert found(root, "git clean -fd build src") == []
    assert found(root, "git clean -fdX") == []
    assert found(root, "git clean -fdn") == []
    assert found(root, "git stash -u") == [".claude/settings.json", "bylaw.toml"]
    assert found(root, "git stash") == []


def test_ignored_files_too(root):
    write(root, ".bylaw/state/journal.db", "")
    write(root, ".bylaw/state/.gitignore", "*\n")

    assert found(root, "git clean -fd") == []
    assert found(root, "git stash -u") == []
    kept = [".bylaw/state/.gitignore", ".bylaw/state/journal.db"]
    assert found(root, "git clean -fdx") == kept
    assert found(root, "git stash --all") == kept


def test_a_stash_brings_what_is_in_it(governed):
    git(governed, "stash")
    write(governed, "rules/a.toml", "y\n")
    git(governed, "stash")

    assert found(governed, "git stash pop") == ["rules/a.toml"]
    assert found(governed, "git stash apply 0") == ["rules/a.toml"]
    assert found(governed, "git stash branch other") == ["rules/a.toml"]
    assert found(governed, "git stash pop stash@{1}") == []
    assert found(governed, "git stash drop") == []


def test_new_files_of_a_stash_too(governed):
    write(governed, "rules/new.toml", "y\n")
    git(governed, "stash", "-u")

    assert found(governed, "git stash pop") == ["rules/new.toml"]


@pytest.mark.parametrize(
    "text",
    [
        "git rm --cached bylaw.toml && git clean -f",
        "git update-index --force-remove bylaw.toml; git clean -fd",
        "git update-index --cacheinfo 100644,0000,bylaw.toml; git checkout -- .",
        "GIT_INDEX_FILE=/tmp/index git checkout -- .",
        "git --work-tree=. --git-dir=/tmp/other checkout -- .",
        "git read-tree -u --reset HEAD",
    ],
)
def test_what_git_says_before_does_not_count_if_the_text_changes_it(governed, text):
    assert found(governed, text)


def test_a_file_that_is_named_is_meant(governed):
    assert found(governed, "git checkout HEAD~1 -- bylaw.toml") == ["bylaw.toml"]
    assert found(governed, "git rm bylaw.toml") == ["bylaw.toml"]
    assert found(governed, "git rm -r rules") == ["rules/a.toml"]
    assert found(governed, "git rm '*.json'") == [".claude/settings.json"]


def test_a_repository_elsewhere_is_looked_at_where_it_is(governed, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "main")
    write(other, "bylaw.toml", "")
    commit(other)
    write(governed, "bylaw.toml", "changed\n")

    assert found(governed, "cd ../other && git checkout .") == []
    assert found(governed, "git -C ../other reset --hard") == []
    write(other, "bylaw.toml", "changed\n")
    assert found(governed, "cd ../other && git stash") == [f"{other}/bylaw.toml"]


def test_nothing_of_the_repository_is_run(governed, tmp_path):
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    script.chmod(0o755)
    for setting in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.external"):
        git(governed, "config", setting, str(script))
    (governed / ".gitattributes").write_text("* filter=x\n")
    os.utime(governed / "bylaw.toml", (1, 1))

    found(governed, "git stash; git reset --hard HEAD~1; git stash pop; git clean -fdx")
    assert not ran.exists()
    git(governed, "status")
    assert ran.exists()  # else the settings above would be for nothing


def test_git_that_cannot_be_asked_opens_nothing(governed, monkeypatch):
    fails = partial(Git, "/bin/false")
    monkeypatch.setattr("bylaw.hosts.hooks.protect.git_changes.Git", fails)

    assert found(governed, "git reset --hard") == ["rules/a.toml"]
    assert found(governed, "git checkout src") == []


def test_a_mode_counts_where_a_hook_of_git_would_cease_to_run(root):
    text = "find . -type f -exec chmod 644 {} +"
    assert found(root, "find . -type f -exec chmod 000 {} +") == [".git/config"]
    hook = root / ".git/hooks/pre-commit"
    write(root, ".git/hooks/pre-commit", "#!/bin/sh\n")

    assert found(root, text) == []
    hook.chmod(0o755)
    assert found(root, text) == [".git/hooks/pre-commit"]


TELLS = """
import sys
from bylaw.hosts.clients.base import Call
from bylaw.hosts.hooks.protect.protect import find_protected
from bylaw.hosts.protected_paths import Protection
from bylaw.runtime.settings import ProtectSettings
call = Call(tool="Bash", also=("shell",), args={"command": sys.argv[2]})
print(find_protected(call, sys.argv[1], Protection(sys.argv[1], ProtectSettings())))
"""


@pytest.mark.parametrize("text", ["rm -rf .", "tar xf a.tar b.tar; rm -rf .git/hooks .git/info"])
def test_always_the_same_file_is_named(root, text):
    said = {
        subprocess.run(
            [sys.executable, "-c", TELLS, root, text],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in range(4)
    }
    assert len(said) == 1
    assert b".git/" in said.pop()
