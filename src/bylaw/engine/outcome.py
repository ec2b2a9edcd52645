"""Outcomes of steps, and how they replace the references in the texts of later steps.

A text is filled in once and is plain from then on: text from an outcome is never searched for
references.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.effects import (
    AgentRun,
    ApprovalRequest,
    BusWrite,
    EntryWrite,
    MessageInsert,
    Outcome,
    OutcomePart,
    OutputReplace,
)
from bylaw.model.values import JSON, as_text
from bylaw.model.vocabulary import EffectStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bylaw.model.effects import Step, Text

# A result may be long and may be used often. Longer texts are cut and end in CUT.
MAX_FILLED_CHARS = 1_000_000
CUT = "…"


class StepOutcome(Struct, frozen=True, forbid_unknown_fields=True):
    """How a step ended, with the `result` of its `effect` event.

    A result that is an object has its parts by name (`error`, `exit_code`, `result`, `count`). Any
    other is the error of a step that failed, or the result of one that did not.
    """

    status: EffectStatus
    result: JSON = None

    @property
    def failed(self) -> bool:
        """Whether the status is anything but ok.

        A step that a host cannot carry out was not done: a command must not run without the lock
        before it, and an entry must not pass without its command.
        """
        return self.status is not EffectStatus.OK

    def says(self, part: OutcomePart) -> JSON:
        """Return one part, or None if this outcome does not have it."""
        if isinstance(self.result, dict):
            said = self.result.get(part.value)
        else:
            whole = OutcomePart.ERROR if self.failed else OutcomePart.RESULT
            said = self.result if part is whole else None
        if said is None and part is OutcomePart.ERROR and self.failed:
            return self.status.value  # every failure has an error text
        return said


DONE = StepOutcome(EffectStatus.OK)

# The outcome of a step that had started when its process died. It is never started again.
INTERRUPTED = StepOutcome(EffectStatus.FAILED, {"error": "interrupted"})


def fill(step: Step, outcomes: Sequence[StepOutcome]) -> Step:
    """Return the step with plain texts. The outcomes are those of its plan, oldest first."""
    match step:
        case MessageInsert() | BusWrite() | ApprovalRequest() | OutputReplace():
            return replace(step, text=fill_text(step.text, outcomes))
        case AgentRun():
            return replace(step, input=fill_text(step.input, outcomes))
        case EntryWrite(result=text) if text is not None:
            return replace(step, result=fill_text(text, outcomes))
    return step


def fill_text(text: Text, outcomes: Sequence[StepOutcome]) -> str:
    """Return a text with its references filled in. A part that no outcome has is empty."""
    if isinstance(text, str):
        return text
    pieces = (text,) if isinstance(text, Outcome) else text
    parts = {part: _newest(part, outcomes) for part in OutcomePart}
    return _join(parts[piece.outcome] if isinstance(piece, Outcome) else piece for piece in pieces)


def _newest(part: OutcomePart, outcomes: Sequence[StepOutcome]) -> str:
    # The newest that has this part: releasing a lock in between must not hide an exit code.
    said = (outcome.says(part) for outcome in reversed(outcomes))
    return next((as_text(value) for value in said if value is not None), "")


def _join(pieces: Iterable[str]) -> str:
    kept: list[str] = []
    room = MAX_FILLED_CHARS
    for piece in pieces:
        kept.append(piece[:room])
        if len(piece) > room:
            kept.append(CUT)
            break
        room -= len(piece)
    return "".join(kept)
