"""A process that uses locks, for tests: `lock_user.py hold|race|rounds FOLDER KEY [ROUNDS]`.

`hold` takes the lock, says so and never gives it back. `race` waits for a line and says whether it
took the lock. `rounds` takes and gives back, and fails if ever another one is inside with it: the
system's own lock tells, which goes away with a process that is killed.
"""

import os
import sys
import time
from fcntl import LOCK_EX, LOCK_NB, flock

from lock_takers import taken

from bylaw.store.locks import Lock, Locks

what, folder, key, *more = sys.argv[1:]
locks = Locks(folder)


def say(words):
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


def one_round(inside, counter):
    got = taken(locks, key, 120)
    assert isinstance(got, Lock), got
    flock(inside, LOCK_EX | LOCK_NB)
    count = int(os.pread(counter, 20, 0) or b"0")
    os.pwrite(counter, b"%d" % (count + 1), 0)
    flock(inside, 8)
    assert locks.release(got)


if what == "hold":
    say(type(locks.acquire(key, rule="lines:a.lines#line-1", msg_id="m1")).__name__)
    time.sleep(600)
elif what == "race":
    say("ready")
    sys.stdin.readline()
    got = locks.acquire(key)
    say(type(got).__name__)
    sys.stdin.readline()
else:
    inside = os.open(f"{folder}.inside", os.O_RDWR | os.O_CREAT)
    counter = os.open(f"{folder}.count", os.O_RDWR | os.O_CREAT)
    for _ in range(int(more[0])):
        one_round(inside, counter)
