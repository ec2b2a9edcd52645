"""A session as its client calls it ↔ as it is called in a journal, among those of other clients."""

from __future__ import annotations

from bylaw.model.event import DEFAULT_SESSION


def session_name(host: str, own_id: str) -> str:
    """Our name; sessions of a client that names none are one."""
    return f"{host}:{own_id or DEFAULT_SESSION}"


def own_id(session: str) -> str:
    """The client's."""
    return session.partition(":")[2]
