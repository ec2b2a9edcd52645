"""The state of a session as plain values, for programs: the public format of `--state`.

turn       the number of the current or next turn, from 1
variables  space → name → value; a space is the language and its part of the book
enabled    responses, workflows and protocols that are enabled
response   the id of the selected response, or the empty text
calls      tool → number of executed calls
pending    calls that have not ended, oldest first: tool and call id
history    length, tokens, last_role
firings    uid of a rule → number of times it fired
notices    number of notices that are not delivered yet
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bylaw.model.session import Session
    from bylaw.model.slate import Enabled
    from bylaw.model.values import JSON


def session_state(session: Session) -> dict[str, JSON]:
    """Return what `bylaw decide --state` prints; the values are not copied."""
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
