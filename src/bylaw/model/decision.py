"""Decisions: what the books say about one event, or what they must still know to say it."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from bylaw.model.effects import SESSION_STEPS, Notify, Step
from bylaw.model.values import JSON
from bylaw.model.verdict import Verdict


class NeedName(StrEnum):
    """Which fact is missing."""

    CHANGES = "changes"
    ENTRIES = "entries"
    APPROVALS = "approvals"
    SCRIPTS = "scripts"


# The key of the need for all open entries of the policies in force; others are hashes of one.
OPEN_ENTRIES = "open"


class ScriptCall(Struct, frozen=True, forbid_unknown_fields=True):
    """A script to be run: its text, and the JSON of what it may read."""

    script: str
    input: bytes


class Need(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One fact to gather: its name, and which one (a baseline, a hash, a message, a digest).

    What is to be computed comes with the question: `call` for a script.
    """

    name: NeedName
    key: str
    call: ScriptCall | None = None


class Needs(Struct, frozen=True, forbid_unknown_fields=True):
    """The answer when facts are missing: gather them and decide again."""

    needs: tuple[Need, ...]


class Match(Struct, frozen=True, forbid_unknown_fields=True):
    """What a guard found: plain values that the reason and the steps may read."""

    values: dict[str, JSON] = {}


class OnFailure(StrEnum):
    """What becomes of a plan when a step fails."""

    DROP_REST = "drop_rest"
    ON_ERROR = "on_error"
    HALT = "halt"
    MARK_ENTRY = "mark_entry"


class Plan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The ordered steps of a fired rule; `on_error` steps are each tried once.

    `group` names the group that a failure ends. `again` has the event submitted once more with
    round 2. `delivers` is the number of the notice that this plan brings, 0 when it brings none.
    `broken` is why the step that would follow `steps` could not be computed: it fails the plan.
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


def at_once(plans: Iterable[Plan]) -> set[tuple[int, int]]:
    """The steps that change the session with the decision, by places of plan and step.

    A step that stands behind one to be performed waits for it (CM-A39). So that variables keep
    the order in which they were written, every later step that writes them waits, too.
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
    """Why a rule gave its verdict, and where the rule stands."""

    rule: str
    uid: str
    file: str
    line: int
    verdict: Verdict
    text: str


class TraceResult(StrEnum):
    """What was found out about a rule."""

    FIRED = "fired"
    GUARD_FALSE = "guard_false"
    GUARD_ERROR = "guard_error"
    LIMITED = "limited"
    GATED = "gated"
    BUDGET = "budget"
    SUPPRESSED = "suppressed"
    NOT_LIVE = "not_live"


class TraceLine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule that was looked at."""

    uid: str
    result: TraceResult
    detail: str = ""


class Decision(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The strongest verdict, every reason, the plans in order, and the trace.

    `fired` names the rules whose firing counts, in visiting order: the trace can be made
    late, folding cannot.
    """

    verdict: Verdict = Verdict.ALLOW
    reasons: tuple[Reason, ...] = ()
    plans: tuple[Plan, ...] = ()
    fired: tuple[str, ...] = ()
    trace: tuple[TraceLine, ...] = ()

    def numbered_plans(self) -> Iterator[tuple[Plan, NumberedSteps, NumberedSteps]]:
        """Every plan with its steps and its `on_error` steps, numbered as `effect` events say.

        Steps count from 1 over all plans; `on_error` steps go on behind the last of them, so
        that no number depends on what failed.
        """
        number, behind = 1, 1 + sum(len(plan.steps) for plan in self.plans)
        for plan in self.plans:
            steps = tuple(enumerate(plan.steps, number))
            yield plan, steps, tuple(enumerate(plan.on_error, behind))
            number += len(plan.steps)
            behind += len(plan.on_error)

    def numbered_steps(self) -> Iterator[tuple[int, Plan, Step]]:
        """Every step with its number; those of `on_error` only happen when a plan fails."""
        for plan, steps, _ in self.numbered_plans():
            for number, step in steps:
                yield number, plan, step

    @property
    def comes_again(self) -> bool:
        """The same event will be submitted once more."""
        return any(plan.again for plan in self.plans)
