"""Events: one frozen class per kind. Together they are a union, tagged by the field `kind`."""

from typing import Annotated, ClassVar, TypeAlias, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from bylaw.model.facts import Facts, LawFacts, ToolFacts, WorkFacts
from bylaw.model.history import HistoryMessage
from bylaw.model.values import JSON, Count
from bylaw.model.vocabulary import ActorHint, CallStatus, Change, EffectStatus, Kind, Op, Role

# `seq` and `at` of an event that the runtime has not stamped yet. 0 would be a real time.
UNSTAMPED = -1

DEFAULT_SESSION = "default"
NO_FACTS = Facts()
NO_TOOL_FACTS = ToolFacts()
NO_WORK_FACTS = WorkFacts()
NO_LAW_FACTS = LawFacts()

# An event can be submitted a second time, after commands may have changed its facts.
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
        """Whether it is of the main agent. Subagents have turns, stops and texts of their own."""
        return not self.agent


class SessionStart(Common, frozen=True, kw_only=True, tag="session.start"):
    """A session begins."""

    kind: ClassVar[Kind] = Kind.SESSION_START


class Prompt(Common, frozen=True, kw_only=True, tag="prompt"):
    """A person submits a prompt."""

    kind: ClassVar[Kind] = Kind.PROMPT
    text: str = ""
    facts: WorkFacts = NO_WORK_FACTS


class TurnStart(Common, frozen=True, kw_only=True, tag="turn.start"):
    """A turn is about to run."""

    kind: ClassVar[Kind] = Kind.TURN_START


class Message(Common, frozen=True, kw_only=True, tag="message"):
    """A message was appended to the history."""

    kind: ClassVar[Kind] = Kind.MESSAGE
    role: Role
    text: str = ""
    facts: WorkFacts = NO_WORK_FACTS


class ToolBefore(Common, frozen=True, kw_only=True, tag="tool.before"):
    """A tool is about to run.

    `also` holds its normalised names.
    """

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
    """The output of a turn is complete but not released yet.

    If not `final`, the model continues with the results of its tools, and the answer comes later.
    `earlier` is the text that it wrote before in the same answer.
    """

    kind: ClassVar[Kind] = Kind.TURN_END
    text: str = ""
    response: str = ""
    final: bool = True
    earlier: str = ""


class AgentStop(Common, frozen=True, kw_only=True, tag="agent.stop"):
    """The agent wants to stop.

    With `each`, every violation has its own count. Older records lack it: there, all violations of
    a stop share one count.
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
    """A message is in the bus.

    `retry` is the number of earlier tries, `file` the file name under which the message arrived.
    """

    kind: ClassVar[Kind] = Kind.BUS
    # Any JSON: a rule checks whether the message has the right shape.
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
    """The history was compacted, resumed or edited.

    `tokens` is its new size. Without it, the size is counted from the messages that remain, or
    estimated if the window does not hold all of them. `newest` are the last messages, if they
    differ from before.
    """

    kind: ClassVar[Kind] = Kind.HISTORY
    length: Count
    why: str = ""
    newest: tuple[HistoryMessage, ...] = ()


class ApprovalGiven(Common, frozen=True, kw_only=True, tag="approval"):
    """An authority approved or rejected a held message."""

    kind: ClassVar[Kind] = Kind.APPROVAL
    id: str
    authority: str
    granted: bool
    digest: str = ""
    facts: LawFacts = NO_LAW_FACTS


class RulesChanged(Common, frozen=True, kw_only=True, tag="rules"):
    """Rules were reloaded, or a person enabled or disabled some."""

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
