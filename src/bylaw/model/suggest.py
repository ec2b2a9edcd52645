"""Find the known name that was probably meant, for the `did you mean` of help lines."""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING

from bylaw.model.display import in_backticks, list_limited

if TYPE_CHECKING:
    from collections.abc import Iterable

# A file may have thousands of names and as many typing errors.
MAX_COMPARED = 200
MAX_LISTED = 50


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """Return a help line with the nearest known name, or with the known names if none is near."""
    names = sorted(known)
    if near := nearest_name(wrong, names):
        return suggest_name(near)
    if not names:
        return ""
    return f"known here: {list_limited(names, MAX_LISTED, in_backticks)}"


def suggest_name(near: str) -> str:
    """Return a help line with the name that was probably meant; empty without a name."""
    return f"did you mean `{near}`?" if near else ""


def nearest_name(wrong: str, known: Iterable[str]) -> str:
    """Return the known name that was probably meant, or an empty text."""
    folded = wrong.casefold()
    by_folded = {name.casefold(): name for name in sorted(known, reverse=True)}
    if folded in by_folded:
        return by_folded[folded]
    # Comparing takes quadratic time, so only the beginning of a long name is compared.
    folded = folded[:80]
    letters = set(folded)
    # A typing error leaves most letters of a name as they were.
    likely = nsmallest(
        MAX_COMPARED, by_folded, key=lambda name: len(letters.symmetric_difference(name))
    )
    from difflib import get_close_matches  # noqa: PLC0415 - only unknown names need it

    near = get_close_matches(folded, likely, n=1, cutoff=0.6)
    return by_folded[near[0]] if near else ""
