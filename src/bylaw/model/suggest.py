"""Which known name was meant: the `did you mean` of every diagnostic."""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING

from bylaw.model.visible import in_ticks, listed

if TYPE_CHECKING:
    from collections.abc import Iterable


# A file may bring thousands of names and as many slips.
MAX_COMPARED = 200
MAX_LISTED = 50


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """A help line naming the nearest known name, or the known names when none is near."""
    names = sorted(known)
    if near := nearest(wrong, names):
        return meant(near)
    if not names:
        return ""
    return f"known here: {listed(names, MAX_LISTED, in_ticks)}"


def meant(near: str) -> str:
    """A help line naming what was probably meant; empty if nothing was near."""
    return f"did you mean `{near}`?" if near else ""


def nearest(wrong: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, or nothing."""
    folded = wrong.casefold()
    by_folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    if folded in by_folded:
        return by_folded[folded]
    # A long name is never a slip of a short one, and comparing it costs quadratic time.
    folded = folded[:80]
    letters = set(folded)
    # A slip leaves most letters of a name as they were.
    likely = nsmallest(
        MAX_COMPARED, by_folded, key=lambda name: len(letters.symmetric_difference(name))
    )
    from difflib import get_close_matches  # noqa: PLC0415 - only slips need it

    near = get_close_matches(folded, likely, n=1, cutoff=0.6)
    return by_folded[near[0]] if near else ""
