"""What an explanation is made of; plain values, still with foreign text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from bylaw.expr.explaining import Explained
    from bylaw.model.decision import Plan, Reason, TraceResult
    from bylaw.model.effects import Step
    from bylaw.model.values import JSON
    from bylaw.runtime.journal.reading import Stored


class WrittenText(Struct, frozen=True):
    """Lines of a file as they were, from `line` on."""

    path: str
    line: int
    lines: tuple[str, ...]


class AskedFact(Struct, frozen=True):
    """A fact that a guard asked for, and the answer; a script has its text and its input."""

    name: str
    key: str
    found: JSON
    known: bool
    script: WrittenText | None = None
    input: JSON = None


class LimitFound(Struct, frozen=True):
    """A limit of a rule with its counters; `counted` are turns or milliseconds since then."""

    name: str
    value: int
    fired: int
    last_at: int
    last_turn: int
    counted: int
    closed: bool


class GateFound(Struct, frozen=True):
    """A gate of a rule: what it wants, what it found."""

    name: str
    wants: str
    found: str
    open: bool


class ExplainedRule(Struct, frozen=True, kw_only=True):
    """A rule at a record. Without a `result` it was not looked at, and `detail` says why."""

    uid: str
    id: str
    file: str
    line: int
    result: TraceResult | None
    detail: str
    text: WrittenText | None = None
    guard: Explained | None = None
    checks: tuple[Explained, ...] = ()
    asked: tuple[AskedFact, ...] = ()
    match: dict[str, JSON] | None = None
    limits: tuple[LimitFound, ...] = ()
    gates: tuple[GateFound, ...] = ()


class ExplainedStep(Struct, frozen=True):
    """A step of a plan with its number and how it ended; `status` may also say that it did not."""

    number: int
    plan: Plan
    step: Step
    status: str
    result: JSON = None
    ms: int | None = None


class Explanation(Struct, frozen=True):
    """A record, its reasons, the rules of interest, the steps, and what cannot be shown.

    If one rule was asked for, reasons and steps are those of that rule.
    """

    stored: Stored
    reasons: tuple[Reason, ...] = ()
    rules: tuple[ExplainedRule, ...] = ()
    steps: tuple[ExplainedStep, ...] = ()
    notes: tuple[str, ...] = ()
