"""A session → its state as plain values, for programs: the public shape of `--state`.

turn       the number of the turn that is running or about to run, from 1
variables  space → name → value; a space is the language and its part of the book
enabled    responses, workflows and protocols that are switched on
response   the id of the response that was selected, or the empty text
calls      tool → how often it was executed
pending    calls under way, oldest first: tool and call id
history    length, tokens, last_role
firings    uid of a rule → how often it fired
notices    how many wait to be delivered
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bylaw.model.session import Session
    from bylaw.model.slate import Enabled
    from bylaw.model.values import JSON


def session_state(session: Session) -> dict[str, JSON]:
    """What `bylaw decide --state` prints; the values are not copied."""
    return {
        "turn": session.turn,
        "variables": {space: dict(names) for space, names in session.slate.variables.items()},
        "enabled": _enabled(session.slate.enabled),
        "response": session.slate.response,
        "calls": {tool: tally.count for tool, tally in session.calls.by_name.items()},
        "pending": [{"tool": one.tool, "call": one.call} for one in session.calls.pending],
        "history": {
            "length": session.history.length,
            "tokens": session.history.tokens,
            "last_role": session.history.last_role,
        },
        "firings": {uid: firing.count for uid, firing in session.firings.items()},
        "notices": len(session.notices.waiting),
    }


def _enabled(enabled: Enabled) -> dict[str, JSON]:
    return {
        "responses": list(enabled.responses),
        "workflows": list(enabled.workflows),
        "protocols": list(enabled.protocols),
    }
