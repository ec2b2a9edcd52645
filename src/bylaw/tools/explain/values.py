"""The parts of an explanation, as plain values. Their texts are not escaped yet."""

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
    """Lines of a stored file, from `line` on."""

    path: str
    line: int
    lines: tuple[str, ...]


class AskedFact(Struct, frozen=True):
    """A fact that a guard read, and the answer. For a script, also its text and its input."""

    name: str
    key: str
    found: JSON
    known: bool
    script: WrittenText | None = None
    input: JSON = None


class LimitFound(Struct, frozen=True):
    """A limit of a rule. `counted`: turns or milliseconds since the rule fired last."""

    name: str
    value: int
    fired: int
    last_at: int
    last_turn: int
    counted: int
    closed: bool


class GateFound(Struct, frozen=True):
    """A gate of a rule: what it needs and what it found."""

    name: str
    wants: str
    found: str
    open: bool


class ExplainedRule(Struct, frozen=True, kw_only=True):
    """A rule at a record. Without `result` it was not evaluated, and `detail` gives the reason."""

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
    """A step of a plan with its number and outcome. `status` also covers unfinished steps."""

    number: int
    plan: Plan
    step: Step
    status: str
    result: JSON = None
    ms: int | None = None


class Explanation(Struct, frozen=True):
    """A record with its reasons, rules and steps. `notes` say what is missing or uncertain.

    If one rule is selected, reasons and steps are those of that rule.
    """

    stored: Stored
    reasons: tuple[Reason, ...] = ()
    rules: tuple[ExplainedRule, ...] = ()
    steps: tuple[ExplainedStep, ...] = ()
    notes: tuple[str, ...] = ()
