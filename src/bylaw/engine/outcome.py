"""Outcomes of steps, and how they replace the references in the texts of later steps.

A text is filled in once and is plain from then on: what an outcome brings is never read again,
whatever it looks like.
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

# A result may be long and may be referred to often; longer texts are cut and end in CUT.
MAX_FILLED_CHARS = 1_000_000
CUT = "…"


class StepOutcome(Struct, frozen=True, forbid_unknown_fields=True):
    """How a step ended, with the `result` of its `effect` event.

    A result that is an object says its parts by name (`error`, `exit_code`, `result`, `count`);
    any other is the error of a step that failed and the result of one that did not.
    """

    status: EffectStatus
    result: JSON = None

    @property
    def failed(self) -> bool:
        """Only ok is no failure.

        What a host cannot carry out was not done either: a command must not run without the
        lock before it, nor an entry pass without its command.
        """
        return self.status is not EffectStatus.OK

    def says(self, part: OutcomePart) -> JSON:
        """One part, or None when this outcome does not have it."""
        if isinstance(self.result, dict):
            said = self.result.get(part.value)
        else:
            whole = OutcomePart.ERROR if self.failed else OutcomePart.RESULT
            said = self.result if part is whole else None
        if said is None and part is OutcomePart.ERROR and self.failed:
            return self.status.value  # no failure goes without a word
        return said


DONE = StepOutcome(EffectStatus.OK)

# The outcome of a step that had started when its process died: it is never begun again.
INTERRUPTED = StepOutcome(EffectStatus.FAILED, {"error": "interrupted"})


def fill(step: Step, outcomes: Sequence[StepOutcome]) -> Step:
    """The step with plain texts; the outcomes are those of its plan, oldest first."""
    match step:
        case MessageInsert() | BusWrite() | ApprovalRequest() | OutputReplace():
            return replace(step, text=fill_text(step.text, outcomes))
        case AgentRun():
            return replace(step, input=fill_text(step.input, outcomes))
        case EntryWrite(result=text) if text is not None:
            return replace(step, result=fill_text(text, outcomes))
    return step


def fill_text(text: Text, outcomes: Sequence[StepOutcome]) -> str:
    """A text with the parts that it refers to; a part that no outcome has is empty."""
    if isinstance(text, str):
        return text
    pieces = (text,) if isinstance(text, Outcome) else text
    parts = {part: _newest(part, outcomes) for part in OutcomePart}
    return _join(parts[piece.outcome] if isinstance(piece, Outcome) else piece for piece in pieces)


def _newest(part: OutcomePart, outcomes: Sequence[StepOutcome]) -> str:
    # The newest that has this part: a lock released in between hides no exit code.
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
