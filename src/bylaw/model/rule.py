"""A rule: when (kinds, filter), if (limits, gates, guard), then (verdict, plan).

Languages implement guards and steps. Here are only the protocols that `decide` uses. Also here: the
uid of a rule, `dialect:path#id`, which is unique over all books; and how many approvals a gate
needs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

from msgspec import Struct, field

from bylaw.model.decision import OnFailure, TraceResult
from bylaw.model.event import Bus
from bylaw.model.vocabulary import ApprovalState

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bylaw.model.decision import Match, Need, Needs
    from bylaw.model.effects import Step
    from bylaw.model.event import Event
    from bylaw.model.facts import Approval
    from bylaw.model.session import Session, Variables
    from bylaw.model.values import JSON
    from bylaw.model.vocabulary import Authority, CallStatus, Change, DeliverAt, Kind, Op, Verdict


class View(Protocol):
    """Everything that a guard or a step can read: event, frozen session, current variables."""

    @property
    def event(self) -> Event:
        """The event with its facts."""

    @property
    def session(self) -> Session:
        """The session at the start of the event."""

    @property
    def slate(self) -> Variables:
        """Variables and enabled sets, including what earlier rules of this event wrote."""

    @property
    def now(self) -> int:
        """The time of the event in milliseconds. It never decreases."""

    @property
    def line(self) -> str:
        """The current line, in a group that reads its text line by line."""

    @property
    def visited(self) -> Sequence[RuleVisit]:
        """The results of the other rules of the group, for a rule that closes the group."""

    def fact(self, need: Need) -> object:
        """Return a fact of the event. Raises if it is missing."""


class RuleVisit(NamedTuple):
    """The result of a rule: its closed gates, and the ops of its steps."""

    rule: Rule
    result: TraceResult
    closed: tuple[Gate, ...] = ()
    ops: tuple[Op, ...] = ()

    @property
    def fired(self) -> bool:
        """Whether the rule fired: it gave a verdict or a step."""
        return self.result is TraceResult.FIRED


class Guard(Protocol):
    """An expression, a script or a check."""

    def test(self, view: View) -> Match | Needs | None:
        """Return what was found, the facts that are needed first, or None if nothing matches."""


class Siblings(Protocol):
    """Shared by adjacent rules of one uid that have the same needs, no limits and no gates."""

    def is_idle(self, view: View) -> bool:
        """Whether none of their guards can match. The facts that they need are present."""


class StepMaker(Protocol):
    """One action of a rule. Its steps are computed when the rule fires.

    Usually it is one step, or none if the action does not apply. Messages may follow the first step
    and report it. All steps of an action together cost one action of the budget.
    """

    @property
    def op(self) -> Op:
        """The op of its steps, known at load."""

    def make(self, view: View, match: Match) -> Sequence[Step]:
        """Return the finished steps. Raises NotNeeded, with a reason for the trace, if none."""


@runtime_checkable
class NoticeMaker(Protocol):
    """A step maker whose step is a notice."""

    @property
    def deliver_at(self) -> DeliverAt:
        """When the notice is due, known at load."""


class ReasonMaker(Protocol):
    """Computes the text of a reason when its rule fires."""

    def make(self, view: View, match: Match) -> str:
        """Return the finished text."""


class Origin(Struct, frozen=True):
    """Where a rule is, and the digest of its file. `last_line` is 0 if unknown."""

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
    """The events that a rule is for. Without `status`, every status that triggers rules.

    With `main_agent`, events of subagents are left out: subagents have no turns and no session end.
    """

    kinds: tuple[Kind, ...]
    status: tuple[CallStatus, ...] = ()
    rounds: Rounds = Rounds.ANY
    main_agent: bool = False

    @classmethod
    def once(cls, kind: Kind, *status: CallStatus) -> Self:
        """Match events once, even if they are submitted again after a command."""
        return cls(kinds=(kind,), status=status, rounds=Rounds.FIRST)

    @classmethod
    def of_main_agent(cls, kind: Kind) -> Self:
        """As `once`, without subagents: their turns and messages are not part of the session."""
        return cls(kinds=(kind,), rounds=Rounds.FIRST, main_agent=True)


class Filter(Struct, frozen=True, kw_only=True):
    """Conditions that are checked before the guard. An empty list matches everything."""

    tools: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    command_types: tuple[str, ...] = ()
    line_keys: tuple[str, ...] = ()


NO_FILTER = Filter()


class Limits(Struct, frozen=True, kw_only=True):
    """How often a rule may fire. 0 means no limit."""

    once: bool = False
    cooldown_turns: int = 0
    cooldown_ms: int = 0


NO_LIMITS = Limits()


class EnabledSet(StrEnum):
    """The sets that a command can enable."""

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


class RuleVerdict(Struct, frozen=True):
    """The verdict of a rule with its reason."""

    verdict: Verdict
    reason: ReasonMaker


class PlanForm(Struct, frozen=True, kw_only=True):
    """A plan whose steps are not computed yet; see `Plan`.

    `summary` makes a message about what the rule did. It is the last step of the plan and costs no
    budget. Its match contains the numbers of the actions that were `kept` and of those `skipped`
    over the budget. If all were skipped, the plan is this message alone, and the rule has not
    fired.
    """

    steps: tuple[StepMaker, ...] = ()
    on_failure: OnFailure = OnFailure.DROP_REST
    ends_group_on_failure: bool = False
    on_error: tuple[StepMaker, ...] = ()
    summary: StepMaker | None = None
    again: bool = False


NO_PLAN = PlanForm()


class Rule(Struct, frozen=True, kw_only=True):
    """One rule of any language. Of adjacent rules with one uid, at most one applies.

    `rank` orders kinds of rules before `priority` does, see `SortKey`. `last` ends the group.
    `goes_on` continues a first-match group. `free` steps cost no budget. A rule that is not
    `enabled` is disabled in its file; a `core` rule cannot be disabled. `siblings` can tell quickly
    that neither this rule nor its siblings can match. `about` is what the author wrote about the
    rule, for people.
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
    judgement: RuleVerdict | None = None
    plan: PlanForm = NO_PLAN
    rank: int = 0
    priority: int = 0
    last: bool = False
    goes_on: bool = False
    free: bool = False
    enabled: bool = True
    core: bool = False
    about: Mapping[str, str] = field(default_factory=dict)


# Replaces the path for rules that a language or Bylaw itself provides.
BUILT_IN = "builtin"


def uid_of(dialect: str, path: str, rule_id: str) -> str:
    """Build the uid of a rule, which is unique over all books."""
    return f"{dialect}:{path}#{rule_id}"


def built_in_uid(dialect: str, rule_id: str) -> str:
    """Build the uid of a rule that is in no file."""
    return uid_of(dialect, BUILT_IN, rule_id)


def dialect_of(uid: str) -> str:
    """Return the language of a rule."""
    return uid.partition(":")[0]


def path_of(uid: str) -> str:
    """Return the file of a rule, or `BUILT_IN` if it is in no file."""
    rest = uid.partition(":")[2]
    return BUILT_IN if rest.startswith(f"{BUILT_IN}#") else rest.rpartition("#")[0]


def id_of(uid: str) -> str:
    """Return the id of a rule, as its file has it."""
    built_in = uid.partition(":")[2].partition(f"{BUILT_IN}#")
    if not built_in[0] and built_in[1]:
        return built_in[2]  # the id of a rule for a broken file contains a path
    return uid.rpartition("#")[2]


# How many different authorities must approve.
APPROVALS_NEEDED = {ApprovalMode.SINGLE: 1, ApprovalMode.DUAL: 2}


def message_field(event: Event, name: str) -> JSON:
    """Return a field of the bus message, or None if there is no such field."""
    message = event.message if isinstance(event, Bus) else None
    return message.get(name) if isinstance(message, dict) else None


def needed_approvals(gate: ApprovalGate, event: Event) -> int:
    """Return how many approvals are needed. A message can ask for one, never for less (LD-A12)."""
    asked = message_field(event, "requires_approval") is True
    return max(APPROVALS_NEEDED.get(gate.mode, 0), int(asked))


def granting_authorities(
    gate: ApprovalGate, event: Event, approvals: Iterable[Approval]
) -> set[str]:
    """Return the listed authorities that approved the message in its present version."""
    message_id, category = message_field(event, "msg_id"), message_field(event, "category")
    digest = event.digest if isinstance(event, Bus) else ""
    return {
        approval.authority.lower()
        for approval in approvals
        if approval.id == message_id
        and approval.state is ApprovalState.GRANTED
        and approval.authority.lower() in gate.authorities
        and approval.category in ("", category)
        and approval.digest in ("", digest)
    }
