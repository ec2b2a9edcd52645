"""Which effects each host can carry out: it performs nothing that its line does not name.

Effects that only change the session need nobody; an event that a rule emits is queued by Bylaw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.vocabulary import Op

if TYPE_CHECKING:
    from collections.abc import Mapping

BUS = "bus"
CHAT = "chat"
PYTHON = "python"
WORKTREE = "worktree"

CARRIES_OUT: Mapping[str, frozenset[Op]] = {
    BUS: frozenset(
        {
            *(Op.COMMAND_RUN, Op.LOCK_ACQUIRE, Op.LOCK_RELEASE),
            *(Op.BUS_WRITE, Op.APPROVAL_REQUEST),
        }
    ),
    CHAT: frozenset(
        {
            *(Op.MESSAGE_INSERT, Op.TOOL_CALL, Op.AGENT_RUN, Op.HISTORY_COMPACT),
            Op.LOG,
            *(Op.ENTRY_WRITE, Op.COMMAND_RUN, Op.PROMPT_SHOW, Op.BASELINE_CAPTURE),
        }
    ),
    PYTHON: frozenset({Op.MESSAGE_INSERT, Op.LOG, Op.PROMPT_SHOW, Op.OUTPUT_REPLACE, Op.TOOL_CALL}),
    WORKTREE: frozenset({Op.ENTRY_WRITE, Op.COMMAND_RUN, Op.PROMPT_SHOW, Op.BASELINE_CAPTURE}),
}
