"""A message of the agent → the policies that it promises to have attended to.

    <promise>✓ README Accuracy</promise>

Identifier or title, in any case of letters, with or without the mark (DW-A20).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PROMISE = re.compile(r"<promise>([^<]*)</promise>", re.IGNORECASE)
_MARK = "✓"


def promises(text: str) -> frozenset[str]:
    """The names in all promises of a message, as `promise_name` writes them."""
    return frozenset(promise_name(found[1]) for found in _PROMISE.finditer(text)) - {""}


def promise_name(written: str) -> str:
    """A name as it is compared."""
    return " ".join(written.strip().removeprefix(_MARK).split()).casefold()


def is_promised(text: str, names: Iterable[str]) -> bool:
    """Whether a message promises what goes by one of these names."""
    return not promises(text).isdisjoint(map(promise_name, names))


def promise_of(policy: str) -> str:
    """What the agent has to write."""
    return f"<promise>{policy}</promise>"
