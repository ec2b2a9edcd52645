"""The decision for an event if the journal cannot be written: gates deny."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.decision import Decision, Reason
from bylaw.model.uid import built_in_uid
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from bylaw.model.event import Event
    from bylaw.runtime.journal.errors import JournalError

RULE = "journal"
UID = built_in_uid("bylaw", RULE)
# Events that a decision can still prevent; all others have already happened.
GATES = frozenset(
    {
        *(Kind.PROMPT, Kind.TURN_START, Kind.TOOL_BEFORE),
        *(Kind.TURN_END, Kind.AGENT_STOP, Kind.BUS),
    }
)


def unrecorded(event: Event, problem: JournalError) -> Decision:
    """Deny at a gate, warn otherwise; the reason says what to do about the journal."""
    verdict = Verdict.DENY if event.kind in GATES else Verdict.WARN
    reason = Reason(
        rule=RULE,
        uid=UID,
        file="",
        line=0,
        verdict=verdict,
        text=f"not recorded: {problem.message}",
    )
    return Decision(verdict=verdict, reasons=(reason,))
