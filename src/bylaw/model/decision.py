"""Decisions: what the books decide about one event, or which facts they need first."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from bylaw.model.effects import SESSION_STEPS, Notify, Step
from bylaw.model.values import JSON
from bylaw.model.vocabulary import Verdict


class NeedName(StrEnum):
    """The kind of fact that is missing."""

    CHANGES = "changes"
    ENTRIES = "entries"
    APPROVALS = "approvals"
    SCRIPTS = "scripts"


# The key of the need for all open entries of the active policies. Other keys are entry hashes.
OPEN_ENTRIES = "open"


class ScriptCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A script to run: its text, and its input as JSON."""

    script: str
    input: bytes


class Need(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One fact to gather: its name, and which one (a baseline, a hash, a message, a digest).

    For a script, `call` is what to run.
    """

    name: NeedName
    key: str
    call: ScriptCall | None = None


class Needs(Struct, frozen=True, forbid_unknown_fields=True):
    """Returned instead of a decision if facts are missing: gather them and decide again."""

    needs: tuple[Need, ...]


class Match(Struct, frozen=True, forbid_unknown_fields=True):
    """What a guard found: plain values for the reason and the steps."""

    values: dict[str, JSON] = {}


class OnFailure(StrEnum):
    """What happens to a plan when a step fails."""

    DROP_REST = "drop_rest"
    ON_ERROR = "on_error"
    HALT = "halt"
    MARK_ENTRY = "mark_entry"


class Plan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ordered steps of a fired rule. Each `on_error` step is tried once.

    `group` names the group that a failure ends. With `again`, the event is submitted again with
    round 2. `delivers` is the number of the notice that this plan delivers, 0 for none. `broken` is
    why the step after `steps` could not be computed; it fails the plan.
    """

    uid: str
    rule: str
    group: str = ""
    steps: tuple[Step, ...]
    on_failure: OnFailure = OnFailure.DROP_REST
    ends_group_on_failure: bool = False
    on_error: tuple[Step, ...] = ()
    again: bool = False
    delivers: int = 0
    broken: str = ""


# Steps with their numbers.
NumberedSteps: TypeAlias = tuple[tuple[int, Step], ...]


def immediate_steps(plans: Iterable[Plan]) -> set[tuple[int, int]]:
    """Return the steps that change the session with the decision, as indexes of plan and step.

    A step after one that the host performs waits for it (CM-A39). Then every later step that writes
    variables waits as well, so that variables keep the order in which they were written.
    """
    found: set[tuple[int, int]] = set()
    writes_wait = False
    for place, plan in enumerate(plans):
        performed = False
        for number, step in enumerate(plan.steps):
            if not isinstance(step, SESSION_STEPS):
                performed = True
            elif performed or (writes_wait and not isinstance(step, Notify)):
                writes_wait = writes_wait or not isinstance(step, Notify)
            else:
                found.add((place, number))
    return found


class Reason(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a rule gave its verdict, and where the rule is."""

    rule: str
    uid: str
    file: str
    line: int
    verdict: Verdict
    text: str


class TraceResult(StrEnum):
    """The result of one rule."""

    FIRED = "fired"
    GUARD_FALSE = "guard_false"
    GUARD_ERROR = "guard_error"
    LIMITED = "limited"
    GATED = "gated"
    BUDGET = "budget"
    SUPPRESSED = "suppressed"
    NOT_LIVE = "not_live"


class TraceLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of one rule, in the trace."""

    uid: str
    result: TraceResult
    detail: str = ""


class Decision(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The strongest verdict, all reasons, the plans in order, and the trace.

    `fired` lists the rules that count as fired, in visiting order. `fold` needs it, while the trace
    may be computed later.
    """

    verdict: Verdict = Verdict.ALLOW
    reasons: tuple[Reason, ...] = ()
    plans: tuple[Plan, ...] = ()
    fired: tuple[str, ...] = ()
    trace: tuple[TraceLine, ...] = ()

    def numbered_plans(self) -> Iterator[tuple[Plan, NumberedSteps, NumberedSteps]]:
        """Yield every plan with its steps and its `on_error` steps, numbered as in `effect` events.

        Steps count from 1 over all plans. The numbers of `on_error` steps follow the last of them,
        so no number depends on what failed.
        """
        number, behind = 1, 1 + sum(len(plan.steps) for plan in self.plans)
        for plan in self.plans:
            steps = tuple(enumerate(plan.steps, number))
            yield plan, steps, tuple(enumerate(plan.on_error, behind))
            number += len(plan.steps)
            behind += len(plan.on_error)

    def numbered_steps(self) -> Iterator[tuple[int, Plan, Step]]:
        """Yield every numbered step, without `on_error` steps: these run only if a plan fails."""
        for plan, steps, _ in self.numbered_plans():
            for number, step in steps:
                yield number, plan, step

    @property
    def needs_second_round(self) -> bool:
        """Whether the same event will be submitted again."""
        return any(plan.again for plan in self.plans)
