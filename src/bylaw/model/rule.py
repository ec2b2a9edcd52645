"""A rule: when (kinds, filter), if (limits, gates, guard), then (verdict, plan).

How a guard or a step is written is the business of the languages; here they are only what
`decide` asks of them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

from msgspec import Struct, field

from bylaw.model.decision import OnFailure, TraceResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bylaw.model.decision import Match, Need, Needs
    from bylaw.model.effects import Step
    from bylaw.model.event import Event
    from bylaw.model.session import Session
    from bylaw.model.slate import Slate
    from bylaw.model.verdict import Verdict
    from bylaw.model.vocabulary import Authority, CallStatus, Change, DeliverAt, Kind, Op


class View(Protocol):
    """All that a guard or a step may read: the event, the frozen session, the live slate."""

    @property
    def event(self) -> Event:
        """The event with its facts."""

    @property
    def session(self) -> Session:
        """The session as it stood when the event began."""

    @property
    def slate(self) -> Slate:
        """Variables and enabled sets, with what earlier rules of this event wrote."""

    @property
    def now(self) -> int:
        """The time of the event in milliseconds; it never goes back."""

    @property
    def line(self) -> str:
        """The line of the text that is read, in a group that is read line by line."""

    @property
    def visited(self) -> Sequence[Visited]:
        """What became of the other rules of the group, for a rule that closes it."""

    def fact(self, need: Need) -> object:
        """A fact of the event, or the question for it."""


class Visited(NamedTuple):
    """What became of a rule: which gates were closed, what its steps do."""

    rule: Rule
    result: TraceResult
    closed: tuple[Gate, ...] = ()
    ops: tuple[Op, ...] = ()

    @property
    def fired(self) -> bool:
        """Whether it gave a verdict or a step."""
        return self.result is TraceResult.FIRED


class Guard(Protocol):
    """An expression, a script or a check."""

    def test(self, view: View) -> Match | Needs | None:
        """What was found, what must be known first, or None for no match."""


class Siblings(Protocol):
    """What adjacent rules of one uid share that have the same needs, no limits and no gates."""

    def is_idle(self, view: View) -> bool:
        """Whether none of their guards can match; the facts that they need are there."""


class StepMaker(Protocol):
    """One action of a rule: its steps are computed when the rule fires.

    Usually it is one step, none if it does not apply, or several; messages behind the first may
    tell of it. Together they cost the budget one action.
    """

    @property
    def op(self) -> Op:
        """What its steps will do: known at load."""

    def make(self, view: View, match: Match) -> Sequence[Step]:
        """The finished steps; NotNeeded if there is nothing to do, which the trace then says."""


@runtime_checkable
class NoticeMaker(Protocol):
    """A step maker whose step is a notice."""

    @property
    def deliver_at(self) -> DeliverAt:
        """When the notice will be due: known at load."""


class ReasonMaker(Protocol):
    """Computes the text of a reason when its rule fires."""

    def make(self, view: View, match: Match) -> str:
        """The finished text."""


class Origin(Struct, frozen=True):
    """Where a rule stands, and the digest of that file; `last_line` is 0 if nobody knows it."""

    file: str
    line: int
    column: int
    digest: str
    last_line: int = 0


class Rounds(StrEnum):
    """In which rounds of an event a rule is live."""

    ANY = "any"
    FIRST = "first"
    LAST = "last"


class Trigger(Struct, frozen=True, kw_only=True):
    """The events that a rule looks at; no status means every one that triggers rules.

    `main_agent` leaves out those of subagents, which have no turns nor ends of the session.
    """

    kinds: tuple[Kind, ...]
    status: tuple[CallStatus, ...] = ()
    rounds: Rounds = Rounds.ANY
    main_agent: bool = False

    @classmethod
    def once(cls, kind: Kind, *status: CallStatus) -> Self:
        """Events that happen once, though they are submitted again after a command."""
        return cls(kinds=(kind,), status=status, rounds=Rounds.FIRST)

    @classmethod
    def of_main_agent(cls, kind: Kind) -> Self:
        """The same, but for subagents: their turns and messages are none of the session."""
        return cls(kinds=(kind,), rounds=Rounds.FIRST, main_agent=True)


class Filter(Struct, frozen=True, kw_only=True):
    """What else must fit before the guard is asked; an empty list fits everything."""

    tools: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    command_types: tuple[str, ...] = ()
    line_keys: tuple[str, ...] = ()


NO_FILTER = Filter()


class Limits(Struct, frozen=True, kw_only=True):
    """How often a rule may fire; 0 is no limit."""

    once: bool = False
    cooldown_turns: int = 0
    cooldown_ms: int = 0


NO_LIMITS = Limits()


class EnabledSet(StrEnum):
    """The sets that a command enables."""

    RESPONSES = "responses"
    WORKFLOWS = "workflows"
    PROTOCOLS = "protocols"


class EnabledGate(Struct, frozen=True):
    """Open while this id is enabled."""

    within: EnabledSet
    id: str


class PhaseGate(Struct, frozen=True):
    """Open in these phases, closed while the phase is unknown."""

    phases: tuple[int, ...]


class CategoryGate(Struct, frozen=True):
    """Open for messages of these categories."""

    categories: tuple[str, ...]


class ApprovalMode(StrEnum):
    """How many authorities must approve, and when."""

    NONE = "none"
    SINGLE = "single"
    DUAL = "dual"
    RETROACTIVE = "retroactive"


class ApprovalGate(Struct, frozen=True):
    """Open when enough of these authorities approved."""

    mode: ApprovalMode
    authorities: tuple[Authority, ...]


Gate: TypeAlias = EnabledGate | PhaseGate | CategoryGate | ApprovalGate


class Judgement(Struct, frozen=True):
    """The verdict of a rule with its reason."""

    verdict: Verdict
    reason: ReasonMaker


class PlanForm(Struct, frozen=True, kw_only=True):
    """A plan whose steps are still to be computed; see `decision.Plan`.

    `summary` makes a message about what the rule did: the last step of the plan, which costs no
    budget. Its match has the numbers of the actions that were `kept` and of those `skipped` over
    the budget. Where all were skipped, the message alone is a plan, and the rule has not fired.
    """

    steps: tuple[StepMaker, ...] = ()
    on_failure: OnFailure = OnFailure.DROP_REST
    ends_group_on_failure: bool = False
    on_error: tuple[StepMaker, ...] = ()
    summary: StepMaker | None = None
    again: bool = False


NO_PLAN = PlanForm()


class Rule(Struct, frozen=True, kw_only=True):
    """One rule of any language; adjacent rules with one uid exclude each other.

    `rank` orders sorts of rules before `priority` does, see `procedure.SortKey`. `last` ends
    the group, `goes_on` keeps a first-match group going. `free` steps cost no budget. A rule
    that is not `enabled` was switched off in its file; a `core` rule cannot be switched off.
    `siblings` may tell quickly that there is no point in asking it or those beside it.
    `about` is what its author says of it, for people.
    """

    uid: str
    id: str
    origin: Origin
    on: Trigger
    filter: Filter = NO_FILTER
    limits: Limits = NO_LIMITS
    gates: tuple[Gate, ...] = ()
    needs: tuple[Need, ...] = ()
    guard: Guard | None = None
    siblings: Siblings | None = None
    judgement: Judgement | None = None
    plan: PlanForm = NO_PLAN
    rank: int = 0
    priority: int = 0
    last: bool = False
    goes_on: bool = False
    free: bool = False
    enabled: bool = True
    core: bool = False
    about: Mapping[str, str] = field(default_factory=dict)
