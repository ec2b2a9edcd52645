"""Fields of a payload, read with care: a wrong type is told, a field that is not there is empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bylaw.hosts.hooks.base import PayloadError

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Payload
    from bylaw.model.values import JSON


def text(payload: Payload, key: str) -> str:
    """A text; empty if it is not there."""
    value = payload.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise PayloadError(f"`{key}` is no text")
    return value


def needed(payload: Payload, key: str) -> str:
    """A text without which nothing can be judged."""
    value = text(payload, key)
    if not value:
        raise PayloadError(f"`{key}` is missing")
    return value


def said(payload: Payload, key: str) -> str | None:
    """A text, None if the client does not say."""
    return text(payload, key) if payload.get(key) is not None else None


def flag(payload: Payload, key: str) -> bool:
    """A yes or no; no if it is not there."""
    value = payload.get(key)
    if value is not None and not isinstance(value, bool):
        raise PayloadError(f"`{key}` is neither true nor false")
    return bool(value)


def whole(payload: Payload, key: str) -> int | None:
    """A count, None if the client does not say one; fractions are cut."""
    value = payload.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 53:
        return None
    return int(value)


def mapping(payload: Payload, key: str) -> dict[str, JSON]:
    """An object; empty if it is not there."""
    value = payload.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise PayloadError(f"`{key}` is no object")
    return dict(value)


def unknown(payload: Payload, known: frozenset[str]) -> tuple[str, ...]:
    """The fields that we do not know, sorted."""
    return tuple(sorted(payload.keys() - known))
