"""Read the view of a ChatMD guard from session, event and slate (CM-047 to CM-067)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bylaw.expr.expression_guard import Reader
from bylaw.expr.guard_environment import GuardView
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.model.session import FiringCount

_EVENT_NAMES = {
    Kind.TURN_START: "turn_start",
    Kind.TURN_END: "turn_end",
    Kind.TOOL_BEFORE: "pre_tool_call",
    Kind.TOOL_AFTER: "post_tool_response",
    Kind.MESSAGE: "message_appended",
}
_ALWAYS = {
    "turn_index": "s.turns.completed + 1",
    "context_tokens": "s.history.tokens",
    "history_length": "s.history.length",
    "last_role": "s.history.last_role",
    "calls": "s.calls.by_name",
    "last_user": "(s.history.last_user or None)",
    "last_assistant": "(s.history.last_assistant or None)",
    "last_tool": "(s.history.last_tool or None)",
    "now": "n",
}
_NO_CALL = {"tool_name": "None", "tool_args": "None", "tool_status": "None"}
_BEFORE = {"tool_name": "e.tool", "tool_args": "e.args", "tool_status": "None"}
# CM-A35: for a guard, a time-out is an error.
_AFTER = {**_BEFORE, "tool_status": "('ok' if e.status == 'ok' else 'error')"}


class FiredAt:
    """The times of the last firings of the rules of one file, by id."""

    __slots__ = ("_firings", "_prefix")

    def __init__(self, firings: Mapping[str, FiringCount], prefix: str) -> None:
        self._firings = firings
        self._prefix = prefix

    def get(self, rule_id: str) -> int | None:
        """Return the time in milliseconds, or None if the rule never fired."""
        firing = self._firings.get(self._prefix + rule_id)
        return None if firing is None else firing.at


def guard_reader(space: str, uid_prefix: str) -> Reader:
    """Return the reader for the guards of one file: its variables, and the prefix of its uids."""
    codes = partial(_codes, space, uid_prefix)
    return Reader(GuardView, codes, {"FiredAt": FiredAt})


def _codes(space: str, uid_prefix: str, kind: Kind) -> Mapping[str, str]:
    call = {Kind.TOOL_BEFORE: _BEFORE, Kind.TOOL_AFTER: _AFTER}.get(kind, _NO_CALL)
    return {
        **_ALWAYS,
        **call,
        "event_name": repr(_EVENT_NAMES.get(kind)),
        "variables": f"l.space({space!r})",
        "fired_at": f"FiredAt(s.firings, {uid_prefix!r})",
    }
