"""Convert between a client's session id and the name of the session in the journal."""

from __future__ import annotations

from bylaw.model.event import DEFAULT_SESSION


def session_name(host: str, own_id: str) -> str:
    """Return the name in the journal. Sessions without an id share one name per client."""
    return f"{host}:{own_id or DEFAULT_SESSION}"


def own_id(session: str) -> str:
    """Return the client's id."""
    return session.partition(":")[2]
