"""Fuzz every parser for some seconds: `drive.py --seconds 60 [--target NAME] [--seed S]`.

The same seed gives the same inputs in the same order; how far it gets depends on the machine.
With `--input FILE` one stored input is run once.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from corpus import corpus
from dictionary import FRAMES, WORDS
from mutate import mutated
from targets import TARGETS

# In seconds of this process, so that a busy machine makes no parser slow.
TOO_SLOW = 2.0
DEFAULT_SEED = 1


class TooSlowError(BaseException):
    """Raised into a parser from outside; no parser may catch it."""


class FindingError(AssertionError):
    """An input that broke something, and how to do it again."""


def fuzz(name, seconds, seed=DEFAULT_SEED):
    """The whole corpus, then mutated inputs until the time is over; how many inputs that were."""
    inputs = corpus(name)
    for data in inputs:
        run_one(name, data, "the corpus")
    chance = random.Random(f"{name} {seed}")
    done, end = len(inputs), time.monotonic() + seconds
    while time.monotonic() < end:
        data = mutated(chance, chance.choice(inputs), inputs, WORDS[name], FRAMES[name])
        run_one(name, data, f"seed {seed}, input {done}")
        done += 1
    return done


def run_one(name, data, origin):
    """One input; a finding says everything that is needed to see it again."""
    begin = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, TOO_SLOW)
    try:
        TARGETS[name](data)
    except (Exception, TooSlowError) as problem:
        raise FindingError(_report(name, data, origin, problem)) from problem
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    spent = time.process_time() - begin
    if spent > TOO_SLOW:
        raise FindingError(_report(name, data, origin, TooSlowError(f"{spent:.1f} s")))


def _stop(_signal, _frame):
    raise TooSlowError(f"more than {TOO_SLOW:.0f} s")


signal.signal(signal.SIGPROF, _stop)


def _report(name, data, origin, problem):
    with tempfile.NamedTemporaryFile(prefix=f"fuzz-{name}-", delete=False) as kept:
        kept.write(data)
    shown = repr(data) if len(data) <= 1_000 else f"{data[:1_000]!r} and {len(data) - 1_000} more"
    return (
        f"{name}: {type(problem).__name__}: {str(problem)[:500]}\n"
        f"  from {origin}\n  input {shown}\n"
        f"  again: {sys.executable} {__file__} --target {name} --input {kept.name}"
    )


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--target", choices=TARGETS, action="append")
    parser.add_argument("--seed", default=DEFAULT_SEED)
    parser.add_argument("--input", type=Path)
    given = parser.parse_args()
    found = 0
    for name in given.target or TARGETS:
        try:
            if given.input:
                run_one(name, given.input.read_bytes(), str(given.input))
                continue
            done = fuzz(name, given.seconds, given.seed)
            print(f"{name}: {done} inputs, nothing found")  # noqa: T201 - the result
        except FindingError as finding:
            found = 1
            if given.input:
                raise
            print(finding)  # noqa: T201 - the result
    return found


if __name__ == "__main__":
    sys.exit(main())
