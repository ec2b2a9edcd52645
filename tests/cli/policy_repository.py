"""A git repository with policies, and `bylaw` as a process in it."""

import subprocess

from on_terminal import BYLAW

from bylaw.languages.file_policies.evaluation import trigger_hash
from bylaw.model.effects import EntryWrite
from bylaw.model.vocabulary import EntryStatus
from bylaw.worktree.entry import ActionResult
from bylaw.worktree.queue import Queue

FOLDER = ".deepwork/policies"
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")


class Repository:
    """A repository on a branch; `put` writes files, `commit` commits all of them."""

    def __init__(self, root):
        self.root = root
        self.git("init", "-q", "-b", "main")

    def git(self, *words):
        argv = ["git", *IDENTITY, *words]
        return subprocess.run(
            argv, cwd=self.root, check=True, capture_output=True, text=True
        ).stdout

    def put(self, *paths, text="x\n"):
        for path in paths:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def commit(self, *paths):
        self.put(*paths)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")

    def policy(self, name, text, body="Look."):
        self.put(f"{FOLDER}/{name}.md", text=f"---\n{text}\n---\n{body}\n")

    def bylaw(self, *words, folder=""):
        return subprocess.run(
            [*BYLAW, "policies", *words],
            cwd=self.root / folder, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def entry(self, policy, files, *states, expected=(), matched=(), now=0, shown=0, **result):
        """An entry that went through these states; gives its hash."""
        queue = Queue(str(self.root), print)
        hash_ = trigger_hash(policy, files, "abc123")
        for state in states:
            step = EntryWrite(
                hash=hash_, status=EntryStatus(state), policy=policy, baseline="abc123",
                trigger_files=files, expected_files=expected, matched_files=matched, shown=shown,
            )  # fmt: skip
            made = {"type": "prompt", "output": None, "exit_code": None} | result
            assert queue.write(step, ActionResult(**made), now) is not None
        return hash_
