"""Which known name was meant: the `did you mean` of every diagnostic."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """A help line naming the nearest known name, or the known names when none is near."""
    names = sorted(known)
    if near := nearest(wrong, names):
        return f"did you mean `{near}`?"
    if not names:
        return ""
    return "known here: " + ", ".join(f"`{name}`" for name in names)


def nearest(wrong: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, or nothing."""
    by_folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    # A long name is never a slip of a short one, and comparing it costs quadratic time.
    near = get_close_matches(wrong.casefold()[:80], by_folded, n=1, cutoff=0.6)
    return by_folded[near[0]] if near else ""
