"""One module a protocol of models: a turn → the bytes that a client takes for an answer."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.values import JSON

# Enough for a client that counts.
TOKENS_IN, TOKENS_OUT = 100, 20
_NUMBERS = count(1)


def new_id(prefix: str) -> str:
    """An id that no other answer of this process has."""
    return f"{prefix}{next(_NUMBERS):024d}"


def arguments_text(args: dict[str, JSON]) -> str:
    """Arguments of a call as a text, as most protocols have them."""
    return msgspec.json.encode(args).decode()


def as_stream(events: Iterable[dict[str, JSON]], *, named: bool = False, end: bytes = b"") -> bytes:
    """Server-sent events; `named` ones carry their type before their data."""
    return b"".join(_event(event, named=named) for event in events) + end


def _event(event: dict[str, JSON], *, named: bool) -> bytes:
    head = f"event: {event['type']}\n".encode() if named else b""
    return head + b"data: " + msgspec.json.encode(event) + b"\n\n"
