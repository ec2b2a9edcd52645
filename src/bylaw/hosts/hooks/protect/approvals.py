"""Calls of an agent → approvals that come while they run are doubted, see `approval_watch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.protect.guard import may_change_files
from bylaw.model.visible import brief, visible
from bylaw.model.vocabulary import Moment
from bylaw.runtime.approval_watch import call_began, calls_ended
from bylaw.runtime.shared_files import SharedFiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.hooks.base import Heard
    from bylaw.runtime.approval_watch import Mark

MAX_TOLD = 5


class ApprovalCalls:
    """The approvals of a root whose messages are under law."""

    def __init__(self, root: str, bus_path: str) -> None:
        self._root = root
        self._files = SharedFiles(root, bus_path)

    def hear(self, heard: Heard, session: str) -> Iterator[str]:
        """Take note of an event; what the person should know."""
        call = heard.call
        if call is None:
            yield from self._ended(f"{session}\n")  # the agent rests, so no call of it runs
        elif may_change_files(call):
            name = f"{session}\n{call.id}\n"
            if heard.moment is Moment.BEFORE_TOOL:
                call_began(self._root, name, self._files.grants())
            else:
                yield from self._ended(name)

    def _ended(self, start: str) -> Iterator[str]:
        came = calls_ended(self._root, start, self._files.grants())
        yield from (_told(one) for one in came[:MAX_TOLD])
        if len(came) > MAX_TOLD:
            yield f"{len(came) - MAX_TOLD:,} more approvals came while the agent worked"


def _told(mark: Mark) -> str:
    msg_id = visible(brief(mark.msg_id))
    return (
        f"`{visible(mark.where)}` approves `{msg_id}` since a call of the agent ran: that does not "
        f"count until a person confirms it with `bylaw approve {msg_id}`"
    )
