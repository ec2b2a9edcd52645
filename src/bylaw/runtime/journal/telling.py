"""Reduce a decision to what is stored: from the trace, what fired, failed, was limited or gated.

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
    """Return the decision without the trace lines that follow from rules and event."""
    trace: tuple[TraceLine, ...] | LateTrace = decision.trace
    if isinstance(trace, LateTrace):
        quiet = not (trace.held or decision.plans)  # plans: notices are due
        if quiet and not trace.bucket.holds_back:
            return QUIET
    kept = tuple(line for line in trace if is_telling(line))
    return msgspec.structs.replace(decision, trace=kept)


def is_telling(line: TraceLine) -> bool:
    """Check whether a line of a trace is stored."""
    return line.result in _TELLING


def encode_decision(decision: Decision) -> bytes:
    """Encode a decision as it is stored."""
    return _encoded(telling(decision))[0]


def encode_with_digest(decision: Decision) -> tuple[bytes, bytes]:
    """Encode a decision as it is stored; return the bytes and their digest."""
    return _encoded(telling(decision))


def _encoded(told: Decision) -> tuple[bytes, bytes]:
    if told is QUIET:
        return _QUIET
    data = _ENCODER.encode(told)
    return data, digest(data)
