"""Nobody waits for a lock in Bylaw; tests do."""

import time

from bylaw.store.locks import Lock

SHORTEST_S, LONGEST_S = 0.002, 0.05  # between two tries


def taken(locks, key, seconds):
    """The lock as soon as it can be had; else why not, in the end."""
    until, pause = time.monotonic() + seconds, SHORTEST_S
    while not isinstance(got := locks.acquire(key), Lock) and time.monotonic() < until:
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_S)
    return got
