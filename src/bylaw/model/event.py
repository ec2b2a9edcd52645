"""Events: one frozen class per kind, as a union that is told apart by `kind`."""

from typing import Annotated, ClassVar, TypeAlias, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from bylaw.model.facts import Facts, LawFacts, ToolFacts, WorkFacts
from bylaw.model.history import Said
from bylaw.model.values import JSON, Count
from bylaw.model.vocabulary import ActorHint, CallStatus, Change, EffectStatus, Kind, Op, Role

# `seq` and `at` of an event that the runtime has not stamped yet; 0 is a real time.
UNSTAMPED = -1

DEFAULT_SESSION = "default"
NO_FACTS = Facts()
NO_TOOL_FACTS = ToolFacts()
NO_WORK_FACTS = WorkFacts()
NO_LAW_FACTS = LawFacts()

# An event is submitted once more at most, after its commands changed the world.
Round = Annotated[int, Meta(ge=1, le=2)]


class Common(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="kind",
):
    """The fields of every event."""

    kind: ClassVar[Kind]

    session: str = DEFAULT_SESSION
    seq: Count = UNSTAMPED
    at: Count = UNSTAMPED
    agent: str = ""
    actor: str = ""
    cause: tuple[str, ...] = ()
    round: Round = 1
    tokens: Count | UnsetType = UNSET
    facts: Facts = NO_FACTS

    @property
    def by_main_agent(self) -> bool:
        """A subagent's turns, stops and texts are not those of the session."""
        return not self.agent


class SessionStart(Common, frozen=True, kw_only=True, tag="session.start"):
    """A session begins."""

    kind: ClassVar[Kind] = Kind.SESSION_START


class Prompt(Common, frozen=True, kw_only=True, tag="prompt"):
    """A person hands in a request."""

    kind: ClassVar[Kind] = Kind.PROMPT
    text: str = ""
    facts: WorkFacts = NO_WORK_FACTS


class TurnStart(Common, frozen=True, kw_only=True, tag="turn.start"):
    """A turn is about to run."""

    kind: ClassVar[Kind] = Kind.TURN_START


class Message(Common, frozen=True, kw_only=True, tag="message"):
    """A message was appended: the only kind that makes history."""

    kind: ClassVar[Kind] = Kind.MESSAGE
    role: Role
    text: str = ""
    facts: WorkFacts = NO_WORK_FACTS


class ToolBefore(Common, frozen=True, kw_only=True, tag="tool.before"):
    """A tool is about to run; `also` are its normalised names."""

    kind: ClassVar[Kind] = Kind.TOOL_BEFORE
    tool: str
    also: tuple[str, ...] = ()
    args: dict[str, JSON] = {}
    call: str = ""
    facts: ToolFacts = NO_TOOL_FACTS


class ToolAfter(Common, frozen=True, kw_only=True, tag="tool.after"):
    """A tool call ended."""

    kind: ClassVar[Kind] = Kind.TOOL_AFTER
    tool: str
    also: tuple[str, ...] = ()
    args: dict[str, JSON] = {}
    call: str = ""
    status: CallStatus
    result: JSON = None
    error: str = ""
    ms: Count | None = None
    facts: ToolFacts = NO_TOOL_FACTS


class TurnEnd(Common, frozen=True, kw_only=True, tag="turn.end"):
    """A turn's output is complete and not yet released.

    If not `final`, the model goes on with what its tools gave: the answer comes later. `earlier`
    is what it said before in the same answer.
    """

    kind: ClassVar[Kind] = Kind.TURN_END
    text: str = ""
    response: str = ""
    final: bool = True
    earlier: str = ""


class AgentStop(Common, frozen=True, kw_only=True, tag="agent.stop"):
    """The agent wants to hand control back.

    With `each` every violation is counted for itself; in older records all of a stop are one.
    """

    kind: ClassVar[Kind] = Kind.AGENT_STOP
    text: str = ""
    each: bool = False
    facts: WorkFacts = NO_WORK_FACTS


class File(Common, frozen=True, kw_only=True, tag="file"):
    """A file changed."""

    kind: ClassVar[Kind] = Kind.FILE
    actor: ActorHint = ActorHint.UNKNOWN
    change: Change
    path: str
    old_path: str = ""
    facts: LawFacts = NO_LAW_FACTS


class Bus(Common, frozen=True, kw_only=True, tag="bus"):
    """A message lies in the bus; `retry` counts how often it was tried before.

    `file` is the name under which it lay there.
    """

    kind: ClassVar[Kind] = Kind.BUS
    # Not typed further: whether it has the right shape is for a rule to say.
    message: JSON
    digest: str = ""
    retry: Count = 0
    file: str = ""
    facts: LawFacts = NO_LAW_FACTS


class Custom(Common, frozen=True, kw_only=True, tag="custom"):
    """An event that a rule emitted."""

    kind: ClassVar[Kind] = Kind.CUSTOM
    type: str
    payload: dict[str, JSON] = {}


class SessionEnd(Common, frozen=True, kw_only=True, tag="session.end"):
    """A session ends."""

    kind: ClassVar[Kind] = Kind.SESSION_END


class EffectDone(Common, frozen=True, kw_only=True, tag="effect"):
    """How step `step` (from 1) of the decision on event `of` ended."""

    kind: ClassVar[Kind] = Kind.EFFECT
    of: Count
    step: Count
    op: Op
    status: EffectStatus
    result: JSON = None
    ms: Count | None = None


class HistoryChanged(Common, frozen=True, kw_only=True, tag="history"):
    """The history was compacted, resumed or edited; `tokens` is its size now.

    Without `tokens` the size is counted from the messages that stay, or estimated if not all of
    them are in the window. `newest` are its last messages, where they are not those of before.
    """

    kind: ClassVar[Kind] = Kind.HISTORY
    length: Count
    why: str = ""
    newest: tuple[Said, ...] = ()


class ApprovalGiven(Common, frozen=True, kw_only=True, tag="approval"):
    """Somebody approved or rejected a held message."""

    kind: ClassVar[Kind] = Kind.APPROVAL
    id: str
    authority: str
    granted: bool
    digest: str = ""
    facts: LawFacts = NO_LAW_FACTS


class RulesChanged(Common, frozen=True, kw_only=True, tag="rules"):
    """Rules were reloaded, or switched by a person."""

    kind: ClassVar[Kind] = Kind.RULES
    digest: str
    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


Event: TypeAlias = (
    SessionStart
    | Prompt
    | TurnStart
    | Message
    | ToolBefore
    | ToolAfter
    | TurnEnd
    | AgentStop
    | File
    | Bus
    | Custom
    | SessionEnd
    | EffectDone
    | HistoryChanged
    | ApprovalGiven
    | RulesChanged
)

EVENT_CLASSES: dict[str, type[Common]] = {cls.kind.value: cls for cls in get_args(Event)}
