"""The closed lists of words that events, steps and rules use, one enum each, and the verdicts.

Verdicts are ordered, weakest first. The strongest one of all books decides.
"""

from collections.abc import Iterable
from enum import Enum, StrEnum
from operator import attrgetter


class Kind(StrEnum):
    """The kind of an event, which decides its fields."""

    SESSION_START = "session.start"
    PROMPT = "prompt"
    TURN_START = "turn.start"
    MESSAGE = "message"
    TOOL_BEFORE = "tool.before"
    TOOL_AFTER = "tool.after"
    TURN_END = "turn.end"
    AGENT_STOP = "agent.stop"
    FILE = "file"
    BUS = "bus"
    CUSTOM = "custom"
    SESSION_END = "session.end"
    EFFECT = "effect"
    HISTORY = "history"
    APPROVAL = "approval"
    RULES = "rules"


class Role(StrEnum):
    """Who wrote a message."""

    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


# By the words in files.
ROLES = {role.value: role for role in Role}


class CallStatus(StrEnum):
    """How a tool call ended. With `denied` and `cancelled`, the call never ran."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    DENIED = "denied"
    CANCELLED = "cancelled"


class Change(StrEnum):
    """What happened to a file."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


class ActorHint(StrEnum):
    """Who may have changed a file: a guess that grants nothing."""

    ANTIGRAVITY = "antigravity"
    CURSOR = "cursor"
    CLAUDE = "claude"
    VSCODE = "vscode"
    HUMAN = "human"
    UNKNOWN = "unknown"


class FileStatus(StrEnum):
    """How a file differs from a baseline."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


class Op(StrEnum):
    """What a step does. `answer` is the host's reply, which occurs only in `effect` events."""

    MESSAGE_INSERT = "message.insert"
    TOOL_CALL = "tool.call"
    AGENT_RUN = "agent.run"
    HISTORY_COMPACT = "history.compact"
    STATE_SET = "state.set"
    RULES_ENABLE = "rules.enable"
    RESPONSE_USE = "response.use"
    NOTIFY = "notify"
    LOG = "log"
    EVENT_EMIT = "event.emit"
    COMMAND_RUN = "command.run"
    LOCK_ACQUIRE = "lock.acquire"
    LOCK_RELEASE = "lock.release"
    BUS_WRITE = "bus.write"
    APPROVAL_REQUEST = "approval.request"
    PROMPT_SHOW = "prompt.show"
    BASELINE_CAPTURE = "baseline.capture"
    ENTRY_WRITE = "entry.write"
    OUTPUT_REPLACE = "output.replace"
    ANSWER = "answer"


class EffectStatus(StrEnum):
    """How a step ended. `released` is a stop that was allowed with a warning."""

    OK = "ok"
    FAILED = "failed"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    NOT_CARRIED_OUT = "not_carried_out"
    RELEASED = "released"


class EntryStatus(StrEnum):
    """The state of an entry of the policy queue."""

    QUEUED = "queued"
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


# Open entries still need work. All others are closed.
OPEN_STATUSES = frozenset({EntryStatus.QUEUED, EntryStatus.FAILED})


class ApprovalState(StrEnum):
    """Whether an approval is still valid."""

    GRANTED = "granted"
    REVOKED = "revoked"
    EXPIRED = "expired"
    UNCLEAR = "unclear"  # a statement exists, but it cannot be understood


class PolicyMode(StrEnum):
    """How strictly the bus checks messages."""

    STRICT = "strict"
    RELAXED = "relaxed"


class Recipient(StrEnum):
    """Who gets a message."""

    MODEL = "model"
    PERSON = "person"


class Category(StrEnum):
    """What a notice is about."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    REMINDER = "reminder"


class Priority(StrEnum):
    """How important a notice is, lowest first."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    CRITICAL = "critical"


class DeliverAt(StrEnum):
    """When a notice is due."""

    TURN_START = "turn_start"
    AFTER_TOOL = "after_tool"
    IMMEDIATE = "immediate"


class Level(StrEnum):
    """The level of a log line."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Channel(StrEnum):
    """Where on the bus a rule can write."""

    OUTPUT = "output"
    ERROR = "error"
    PROCESSING = "processing"


class Authority(StrEnum):
    """Who may approve."""

    HUMAN = "human"
    ANTIGRAVITY = "antigravity"


class HookPoint(StrEnum):
    """The event of a coding agent's hook, under one name for all clients."""

    SESSION_START = "session start"
    PROMPT = "prompt"
    BEFORE_TOOL = "before tool"
    AFTER_TOOL = "after tool"
    STOP = "stop"
    SUBAGENT_STOP = "subagent stop"
    SESSION_END = "session end"
    OTHER = "other"


class Verdict(Enum):
    """What a rule decides about an event."""

    ALLOW = "allow"
    WARN = "warn"
    ASK = "ask"
    DENY = "deny"
    HALT = "halt"

    def __init__(self, _word: str) -> None:
        # The number of earlier members: members are created in the order of the source.
        self.strength = len(type(self).__members__)

    def __lt__(self, other: object) -> bool:
        return self.strength < other.strength if isinstance(other, Verdict) else NotImplemented

    def __le__(self, other: object) -> bool:
        return self.strength <= other.strength if isinstance(other, Verdict) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return self.strength > other.strength if isinstance(other, Verdict) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return self.strength >= other.strength if isinstance(other, Verdict) else NotImplemented


def is_not_allowed(verdict: Verdict) -> bool:
    """Whether the event is not allowed. This includes ask, since a person has not decided yet."""
    return verdict >= Verdict.ASK


def strongest(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the strongest verdict, or allow if there are none."""
    return max(verdicts, key=attrgetter("strength"), default=Verdict.ALLOW)
