"""A process that uses the files of a bus, for tests: `bus_user.py WHAT ROOT [WORDS]`.

`claim` takes every message it can get and says their names. `evidence N` writes N of them under
one name and says their paths. `write` writes evidence until it is killed. `handle` claims messages
and gives evidence of each until it is killed. `begin N` begins N ids and says which it got. `slow`
writes a message piece by piece, `hold` writes one and never closes it.
"""

import sys
import time
from pathlib import Path

from bylaw.hosts.bus.evidence import write_evidence
from bylaw.hosts.bus.folders import BusFolders
from bylaw.hosts.bus.ledger import Ledger
from bylaw.hosts.bus.message_file import claim, read_claimed, remove_claim, stamp_of
from bylaw.store.system import own_process_name

BUS = "runtime/bus"
what, root, *words = sys.argv[1:]


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def started():
    say("ready")
    sys.stdin.readline()


def claims_of(bus):
    for name in bus.names():
        try:
            stamp = stamp_of((Path(root) / BUS / "input" / name).stat())
        except FileNotFoundError:
            continue
        got = claim(bus, name, stamp)
        if got is not None:
            yield got


def claim_all(bus):
    for got in claims_of(bus):
        say(got.name)


def write_some(bus):
    for n in range(int(words[0])):
        say(write_evidence(bus, "output", "one", "same", {"n": n, "by": own_process_name()}))


def write_on(bus):
    while True:
        write_evidence(bus, "output", "one", "same", {"text": "x" * 200_000, "end": True})


def handle_on(bus):
    while True:
        for got in claims_of(bus):
            message = read_claimed(bus, got).message
            write_evidence(bus, "output", got.name, "handled", {"message": message})
            remove_claim(bus, got)


def begin_all(_bus):
    ledger = Ledger(root)
    for n in range(int(words[0])):
        got = ledger.begin(
            f"m{n}", digest="d", file="f", claim="c", owner=own_process_name(), after_seq=0, at=n
        )
        if got is None:
            say(f"m{n}")
    ledger.close()


def bind_all(_bus):
    ledger = Ledger(root)
    for n in range(int(words[0])):
        say(ledger.bind_all(f"m{n}", {f"s{n}": ""}, words[1])[f"s{n}"])
    ledger.close()


def write_slowly(_bus):
    """A message whose every beginning but the first is YAML, with pauses longer than is quiet."""
    with (Path(root) / BUS / "input" / words[0]).open("w") as file:
        for n in range(4):
            file.write(f"key{n}: value\n")
            file.flush()
            say(n)
            time.sleep(0.3)
    say("closed")
    sys.stdin.readline()


def append_slowly(_bus):
    """Each piece by an open of its own, as a shell does it."""
    for n in range(4):
        with (Path(root) / BUS / "input" / words[0]).open("a") as file:
            file.write(f"key{n}: value\n")
        time.sleep(0.3)
    say("closed")
    sys.stdin.readline()


def hold_open(_bus):
    file = (Path(root) / BUS / "input" / words[0]).open("w")
    file.write("msg_id: a\n")
    file.flush()
    say("written")
    time.sleep(600)


DOES = {
    "claim": claim_all,
    "evidence": write_some,
    "write": write_on,
    "handle": handle_on,
    "begin": begin_all,
    "bind": bind_all,
    "slow": write_slowly,
    "append": append_slowly,
    "hold": hold_open,
}

with BusFolders(root, BUS) as opened:
    started()
    DOES[what](opened)
