"""A process that uses the queue of a repository, for tests: `evaluator.py WHAT ROOT [SCRIPT]`.

It does one thing for each line that it reads, and says what came of it. `create` makes the entry
of the policy of that name. `stop` lets the agent stop, in one session of one journal for all.
`change` opens an entry and passes it, again and again, until somebody kills it.
"""

import sys
from pathlib import Path

here = Path(__file__).parent
sys.path[:0] = [str(here), str(here.parent)]

from queueing import NOON, NOTHING, PASSED, QUEUED, Folder, step  # noqa: E402 - found just now
from stopping import World  # noqa: E402 - same

from bylaw.model.event import AgentStop  # noqa: E402 - same
from bylaw.worktree.policies import SESSION  # noqa: E402 - same

what, root, *more = sys.argv[1:]


def say(words):
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def create():
    queue = Folder(root).queue
    for line in sys.stdin:
        made = queue.write(step(policy=line.strip()), NOTHING, NOON, [None])
        say(int(made is not None))


def change():
    queue = Folder(root).queue
    say("begun")
    number = 0
    while True:
        number += 1
        for status in (QUEUED, PASSED):
            queue.write(step(status, digest=str(number)), NOTHING, NOON)


def stop():
    world = World(Path(root), made=False)
    world.command(more[0])
    with world.open() as (_, loop):
        for _ in sys.stdin:
            [answer] = loop.take([AgentStop(session=SESSION)])
            say(f"{answer.verdict.value} {answer.problem} {' '.join(world.notes)}")


{"create": create, "change": change, "stop": stop}[what]()
