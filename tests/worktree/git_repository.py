"""Real repositories to look at, made by the git of the system."""

import os
import subprocess
from pathlib import Path

from bylaw.languages.file_policies.syntax import CompareTo
from bylaw.worktree.changes import WorkTree

ALL = tuple(CompareTo)
BASE, TIP, PROMPT = ALL
WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
       "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nowhere",
       "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.file.allow",
       "GIT_CONFIG_VALUE_0": "always", "PATH": os.environ["PATH"]}  # fmt: skip


def git(folder, *arguments, data=None):
    """Run git as a person does, and give what it says."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=WHO, input=data, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode(errors="surrogateescape").strip()


class Repository:
    """A repository, and what is seen of it."""

    def __init__(self, path, *, branch="main", made=True):
        self.path = Path(path)
        self.seen = None
        if made:
            self.path.mkdir(exist_ok=True)
            self.git("init", "-q", "-b", branch)

    def git(self, *arguments, data=None):
        """Run git in it."""
        return git(self.path, *arguments, data=data)

    def write(self, path, text=""):
        """Write a file."""
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self, **files):
        """Write files, by names without a suffix, and commit everything."""
        for name, text in files.items():
            self.write(name, text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.head

    @property
    def head(self):
        """The commit of HEAD."""
        return self.git("rev-parse", "HEAD")

    def clone(self, name, *arguments):
        """A clone beside it."""
        path = self.path.parent / name
        git(self.path.parent, "clone", "-q", *arguments, f"file://{self.path}", str(path))
        return Repository(path, made=False)

    def changes(self, *wanted, start="", session=""):
        """Look anew; what was looked with is kept in `seen`."""
        self.seen = WorkTree(str(self.path / start))
        return self.seen.changes(wanted or ALL, session)

    def changed(self, baseline=BASE, session=""):
        """Status by path."""
        found = getattr(self.changes(baseline, session=session), baseline)
        assert [file.path for file in found.files] == sorted({file.path for file in found.files})
        return {file.path: str(file.status) for file in found.files}

    def digests(self, baseline=BASE):
        """Digest by path."""
        found = getattr(self.changes(baseline), baseline)
        return {file.path: file.digest for file in found.files}

    def capture(self, now=None, session=""):
        """A prompt is submitted."""
        return WorkTree(str(self.path)).capture(now, session)
