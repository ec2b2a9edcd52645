"""A message of the agent → the policies that it acknowledges.

    <promise>✓ README Accuracy</promise>

The tag holds the identifier or the title. Letter case and the mark do not matter (DW-A20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PROMISE = re.compile(r"<promise>([^<]*)</promise>", re.IGNORECASE)
_MARK = "✓"


def promises(text: str) -> frozenset[str]:
    """Return the names in all promises of a message, as `promise_name` writes them."""
    return frozenset(promise_name(found[1]) for found in _PROMISE.finditer(text)) - {""}


def promise_name(written: str) -> str:
    """Return a name in the form in which names are compared."""
    return " ".join(written.strip().removeprefix(_MARK).split()).casefold()


def is_promised(text: str, names: Iterable[str]) -> bool:
    """Return whether a message has a promise for one of these names."""
    return not promises(text).isdisjoint(map(promise_name, names))


def promise_of(policy: str) -> str:
    """Return the text that the agent must write."""
    return f"<promise>{policy}</promise>"
