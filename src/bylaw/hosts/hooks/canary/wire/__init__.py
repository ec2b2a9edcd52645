"""Protocols of models, one module each: a turn → the bytes of an answer."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.values import JSON

# Token counts that any client accepts.
TOKENS_IN, TOKENS_OUT = 100, 20
_NUMBERS = count(1)


def new_id(prefix: str) -> str:
    """Return an id that is unique in this process."""
    return f"{prefix}{next(_NUMBERS):024d}"


def arguments_text(args: dict[str, JSON]) -> str:
    """Encode the arguments of a call as a text, as most protocols do."""
    return msgspec.json.encode(args).decode()


def as_stream(events: Iterable[dict[str, JSON]], *, named: bool = False, end: bytes = b"") -> bytes:
    """Encode server-sent events. With `named`, each has its type before its data."""
    return b"".join(_event(event, named=named) for event in events) + end


def _event(event: dict[str, JSON], *, named: bool) -> bytes:
    head = f"event: {event['type']}\n".encode() if named else b""
    return head + b"data: " + msgspec.json.encode(event) + b"\n\n"
