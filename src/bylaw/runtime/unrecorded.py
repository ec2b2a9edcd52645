"""A journal that cannot be written → the decision that holds without it: gates stay closed."""

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
# What a decision can hold up; everything else has happened already.
GATES = frozenset(
    {
        *(Kind.PROMPT, Kind.TURN_START, Kind.TOOL_BEFORE),
        *(Kind.TURN_END, Kind.AGENT_STOP, Kind.BUS),
    }
)


def unrecorded(event: Event, problem: JournalError) -> Decision:
    """Deny at a gate, else warn; the reason names the way out."""
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
