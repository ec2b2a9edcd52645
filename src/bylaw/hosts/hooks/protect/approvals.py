"""Warn about approvals that appear while a call of an agent runs.

Such approvals do not count until a person confirms them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.named_files import may_change_files
from bylaw.model.visible import brief, visible
from bylaw.model.vocabulary import Moment
from bylaw.runtime.approval_watch import call_began, call_denied, call_ended, calls_ended
from bylaw.runtime.shared_files import SharedFiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.base import Call, Heard
    from bylaw.runtime.approval_watch import Mark

MAX_TOLD = 5


class ApprovalCalls:
    """Watches the approvals of a root that has RULE_DSL rules."""

    def __init__(self, root: str, bus_path: str) -> None:
        self._root = root
        self._files = SharedFiles(root, bus_path)

    def hear(self, heard: Heard, session: str) -> Iterator[str]:
        """Record an event. Yield warnings for the person."""
        call = heard.call
        if heard.moment is Moment.PROMPT and not heard.text:
            return  # not typed by a person: calls may still run
        if call is None:
            # This agent has no running call. Other agents of the session may have one.
            everybody = heard.moment is Moment.SESSION_END
            start = f"{session}\n" if everybody else _of_agent(heard, session)
            yield from self._warnings(calls_ended(self._root, start, self._files.grants()))
        elif may_change_files(call):
            name = _named(call, heard, session)
            if heard.moment is Moment.BEFORE_TOOL:
                yield from self._warnings(call_began(self._root, name, self._files.grants()))
            else:
                yield from self._warnings(call_ended(self._root, name, self._files.grants()))

    def denied(self, heard: Heard, session: str) -> None:
        """Record that a call was denied and never runs."""
        if heard.call is not None and may_change_files(heard.call):
            call_denied(self._root, _named(heard.call, heard, session))

    def _warnings(self, came: list[Mark]) -> Iterator[str]:
        yield from (_warning(one) for one in came[:MAX_TOLD])
        if len(came) > MAX_TOLD:
            yield f"{len(came) - MAX_TOLD:,} more approvals appeared while the agent worked"


def _of_agent(heard: Heard, session: str) -> str:
    """Return how the names of all calls of an agent begin."""
    return f"{session}\n{heard.agent}\n"


def _named(call: Call, heard: Heard, session: str) -> str:
    return f"{_of_agent(heard, session)}{call.id}\n"


def _warning(mark: Mark) -> str:
    msg_id = visible(brief(mark.msg_id))
    return (
        f"`{visible(mark.where)}` has an approval of `{msg_id}` that appeared while a call of the "
        f"agent ran: it does not count until a person confirms it with `bylaw approve {msg_id}`"
    )
