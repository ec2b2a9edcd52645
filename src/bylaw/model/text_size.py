"""How large a text is for a model, by a formula that never changes under a replay."""

from __future__ import annotations

_CHARS_A_TOKEN = 4


def count_tokens(text: str) -> int:
    """A quarter of the code points, rounded up (CM-A08)."""
    return -(-len(text) // _CHARS_A_TOKEN)
