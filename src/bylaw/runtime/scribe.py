"""What a host is told beyond the steps that it performs, if it keeps a transcript.

A transcript shows a rule's call before it is judged, and answers a denied call before the plans of
its decision act. The runtime knows these moments; the host knows how to write them down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bylaw.engine.plan import Due
    from bylaw.model.decision import Decision
    from bylaw.model.event import Event, ToolBefore


class Scribe(Protocol):
    """Writes down what is no step."""

    def named(self, before: ToolBefore) -> ToolBefore:
        """The call of a rule with the other names of its tool."""

    def call_begins(self, before: ToolBefore, rule: str) -> None:
        """A rule calls a tool; whether it may is not judged yet."""

    def call_denied(self, before: ToolBefore, decision: Decision) -> None:
        """A call was denied: it is answered now, before anything else happens.

        Asked again after a process died, which may have answered it.
        """

    def call_refused(self, before: ToolBefore, text: str, rule: str) -> None:
        """The call of a rule was not made, and no denial has answered it."""

    def too_deep(self, event: Event, due: Due) -> str:
        """A step in answer to an event was refused, its chain is too long; what says so."""
