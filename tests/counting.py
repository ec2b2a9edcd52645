"""Count the work of a call in steps, so that the result does not depend on the load.

Use it instead of a clock: a busy machine takes longer, but not more steps.
"""

import gc
import sys


class TooManyStepsError(BaseException):
    """A call took more steps than its test allows. No `except Exception` catches it."""


def steps_of(work, most=sys.maxsize):
    """Run `work` and return the number of functions that it called, including those in C.

    Raises TooManyStepsError as soon as there are more than `most`.
    """
    count = 0

    def note(_frame, event, _about):
        nonlocal count
        count += event in {"call", "c_call"}
        if count > most:
            raise TooManyStepsError(f"more than {most:,} steps")

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()  # its callbacks would be counted
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return count


def growth(work, size):
    """Return how many times the steps of `work(size)` are needed for `work(2 * size)`.

    2 means that the work grows with the size, 4 that it grows with its square. Inputs of both
    sizes must differ, or caches make the first one cheaper.
    """
    work(size // 2)  # imports and compiles what both share
    few = steps_of(lambda: work(size))
    return steps_of(lambda: work(2 * size), most=100 * few) / few
