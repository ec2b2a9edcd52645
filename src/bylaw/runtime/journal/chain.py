"""Records → the links of a chain: each holds the digest of the one before.

The chain runs over digests of payloads, so payloads can be erased without breaking it.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec
from msgspec import Struct

GENESIS = bytes(32)
_ENCODER = msgspec.msgpack.Encoder()


class Header(Struct, frozen=True, array_like=True):
    """What a link covers; the digests are those of the payload as it is stored."""

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
    """The digest that records hold of a payload."""
    return sha256(data).digest()


def link(previous: bytes, header: Header) -> bytes:
    """The digest of a record and of everything before it."""
    return sha256(previous + _ENCODER.encode(header)).digest()
