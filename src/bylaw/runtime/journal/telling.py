"""A decision → what of it is kept: of the trace, what fired, failed, was limited or gated.

The rest of a trace follows from the rules and the event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bylaw.engine.trace import LateTrace
from bylaw.model.decision import Decision, TraceResult
from bylaw.runtime.journal.chain import digest

if TYPE_CHECKING:
    from bylaw.model.decision import TraceLine

_TELLING = frozenset(TraceResult) - {TraceResult.GUARD_FALSE, TraceResult.NOT_LIVE}
_ENCODER = msgspec.json.Encoder()
QUIET = Decision()
_QUIET = (_ENCODER.encode(QUIET), digest(_ENCODER.encode(QUIET)))


def telling(decision: Decision) -> Decision:
    """The decision with nothing in its trace that goes without saying."""
    trace: tuple[TraceLine, ...] | LateTrace = decision.trace
    if isinstance(trace, LateTrace):
        quiet = not (trace.held or decision.plans)  # plans: notices that are due
        if quiet and not trace.bucket.holds_back:
            return QUIET
    kept = tuple(line for line in trace if is_telling(line))
    return msgspec.structs.replace(decision, trace=kept)


def is_telling(line: TraceLine) -> bool:
    """Whether a line of a trace is kept."""
    return line.result in _TELLING


def encode_decision(decision: Decision) -> bytes:
    """A decision as it is stored."""
    return _encoded(telling(decision))[0]


def encode_with_digest(decision: Decision) -> tuple[bytes, bytes]:
    """A decision as it is stored, and its digest."""
    return _encoded(telling(decision))


def _encoded(told: Decision) -> tuple[bytes, bytes]:
    if told is QUIET:
        return _QUIET
    data = _ENCODER.encode(told)
    return data, digest(data)
