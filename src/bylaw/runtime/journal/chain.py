"""Link records into a chain: each record holds a digest that covers the record before it.

The chain covers digests of payloads, so payloads can be erased without breaking it.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec
from msgspec import Struct

GENESIS = bytes(32)
_ENCODER = msgspec.msgpack.Encoder()


class Header(Struct, frozen=True, array_like=True):
    """The fields that a link covers; the digests are those of the stored payload."""

    seq: int
    session: str
    at: int
    kind: str
    verdict: str
    event: bytes
    decision: bytes
    rules: bytes
    version: str
    redacted: bool


def digest(data: bytes) -> bytes:
    """Return the digest that a record holds for a payload."""
    return sha256(data).digest()


def link(previous: bytes, header: Header) -> bytes:
    """Return the digest of a record and of all records before it."""
    return sha256(previous + _ENCODER.encode(header)).digest()
