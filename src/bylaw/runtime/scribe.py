"""What a host that keeps a transcript must write beyond the steps that it performs.

A transcript shows a rule's call before it is decided, and the answer to a denied call before the
plans of its decision run. The runtime knows when that happens; the host knows how to write it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bylaw.engine.plan import Due
    from bylaw.model.decision import Decision
    from bylaw.model.event import Event, ToolBefore


class Scribe(Protocol):
    """Writes transcript entries that are not steps."""

    def named(self, before: ToolBefore) -> ToolBefore:
        """Return the call of a rule with the other names of its tool."""

    def call_begins(self, before: ToolBefore, rule: str) -> None:
        """Write that a rule calls a tool; the call is not decided yet."""

    def call_denied(self, before: ToolBefore, decision: Decision) -> None:
        """Write the answer to a denied call, before anything else happens.

        Called again after a process died, which may already have written it.
        """

    def call_refused(self, before: ToolBefore, text: str, rule: str) -> None:
        """Write that the call of a rule was not made, and that no denial has answered it."""

    def too_deep(self, event: Event, due: Due) -> str:
        """Write that a step was refused because its chain is too long; return the text."""
