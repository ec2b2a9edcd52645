"""Writers of one journal that are killed at random moments: `FOLDER KILLS SEED`.

The modules are loaded once, then a process is forked for each writer. Prints the numbers that
writers told to be committed, one a line.
"""

import os
import random
import signal
import sys
import time

from journal_law import chores, quota, runtime

from bylaw.model.event import Message, Prompt, ToolAfter, ToolBefore
from bylaw.model.vocabulary import CallStatus, Role

SIDE_BY_SIDE = 2
LONGEST_S = 0.03
EVENTS = 10_000  # more than anybody lives to write


def main(folder, kills, seed):
    chance = random.Random(seed)
    writers = [start(folder, number) for number in range(SIDE_BY_SIDE)]
    for number in range(SIDE_BY_SIDE, kills + SIDE_BY_SIDE):
        time.sleep(chance.uniform(0, LONGEST_S))
        pid, reports = writers.pop(chance.randrange(SIDE_BY_SIDE))
        kill(pid, reports)
        writers.append(start(folder, number))
    for pid, reports in writers:
        kill(pid, reports)
    finish(folder)


def start(folder, number):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    os.close(reading)
    write(folder, number, lambda seq: os.write(writing, b"%d\n" % seq))
    os._exit(1)


def write(folder, number, tell):
    """Events of a session that all share and of one of its own, until the end."""
    work = runtime(f"{folder}/j.db", chores(), quota(1_000_000), done=f"{folder}/done")
    for count in range(EVENTS):
        session = "shared" if count % 2 else f"own-{number % 8}"
        call = f"{number}-{count}"
        for event in (
            Prompt(session=session, text=f"prompt {call} " * 30),
            ToolBefore(session=session, tool="shell", call=call, args={"n": count}),
            ToolAfter(session=session, tool="shell", call=call, status=CallStatus.OK, result="ok"),
            Message(session=session, role=Role.USER, text=f"message {call}"),
        ):
            tell(work.submit(event).event.seq)


def kill(pid, reports):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with os.fdopen(reports) as stream:
        sys.stdout.writelines(line for line in stream if line.endswith("\n"))


def finish(folder):
    """A last process meets every session, and so what was left open."""
    work = runtime(f"{folder}/j.db", chores(), quota(1_000_000), done=f"{folder}/done")
    for (session,) in work.journal.query("SELECT DISTINCT session FROM records"):
        end = Message(session=session, role=Role.USER, text="the end")
        sys.stdout.write(f"{work.submit(end).event.seq}\n")
    work.journal.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
