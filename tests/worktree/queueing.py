"""What tests of the queue share: steps, results, and where files lie."""

import json
from pathlib import Path

from bylaw.languages.file_policies.evaluation import trigger_hash
from bylaw.model.effects import EntryWrite
from bylaw.model.vocabulary import EntryStatus
from bylaw.worktree.entry import ActionResult
from bylaw.worktree.queue import Queue

QUEUED, PASSED, FAILED, SKIPPED = EntryStatus
NOTHING = ActionResult(type="prompt", output=None, exit_code=None)
NOON = 1_705_406_400_000
HASH = "8420d67ae38f"


def step(status=QUEUED, policy="readme-accuracy", files=("src/main.py",), **more):
    baseline = more.pop("baseline", "abc123")
    more.setdefault("digest", "one")
    return EntryWrite(
        hash=trigger_hash(policy, files, baseline),
        status=status,
        policy=policy,
        baseline=baseline,
        trigger_files=files,
        **more,
    )


class Folder:
    """The queue of a root, with what it told."""

    def __init__(self, root):
        self.root = Path(root)
        self.notes = []
        self.queue = Queue(str(root), self.notes.append)

    @property
    def path(self):
        return self.root / ".deepwork/tmp/policy/queue"

    @property
    def names(self):
        return sorted(one.name for one in self.path.iterdir()) if self.path.exists() else []

    def write(self, *args, known=None, now=NOON, result=NOTHING, **more):
        return self.queue.write(step(*args, **more), result, now, known)

    def held(self, name):
        return json.loads((self.path / name).read_text())
