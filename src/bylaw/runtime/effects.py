"""Tables of effects by host, and the code that performs a step.

The tables say what each host sends and performs, and how to address each client. A host performs
only the steps that its row names. Steps that only change the session need no host, and Bylaw itself
queues the events that rules emit. `bylaw check --host` and the documentation use these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from time import monotonic_ns
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import Struct

from bylaw.engine.plan import DONE, StepOutcome
from bylaw.model.effects import SESSION_STEPS, EventEmit
from bylaw.model.errors import BylawError
from bylaw.model.vocabulary import DeliverAt, EffectStatus, HookPoint, Kind, Op

if TYPE_CHECKING:
    from bylaw.engine.plan import DueStep
    from bylaw.model.event import Event

BUS = "bus"
CHAT = "chat"
PYTHON = "python"
WORKTREE = "worktree"

CLAUDE = "claude"
CODEX = "codex"
GEMINI = "gemini"
QWEN = "qwen"
COPILOT = "copilot"
DROID = "droid"
OPENCODE = "opencode"
CURSOR = "cursor"

# What file policies need in every host where an agent stops.
_POLICIES = frozenset({Op.ENTRY_WRITE, Op.COMMAND_RUN, Op.PROMPT_SHOW, Op.BASELINE_CAPTURE})
_HOOKS = _POLICIES | {Op.MESSAGE_INSERT, Op.LOG}


class AskSupport(StrEnum):
    """What happens to a call that a person must decide."""

    PERSON = "the client asks the person"
    DENY = "denied, with the reason"


class ClientAbilities(Struct, frozen=True, kw_only=True):
    """What a coding agent supports: the events that it sends, and the replies that it accepts.

    `hook_events` are the hook events that the client sends, `denies` those at which it accepts a
    denial, `for_model` and `for_person` those at which a text reaches the model or the person.
    A text that cannot reach the model now is delivered at the next such event. A warning goes to
    the person, or to the model if it cannot reach the person. `failures` says which failed calls
    the client does not report. `types_without_event`: it types into running programs without a hook
    event.
    """

    title: str
    hook_events: frozenset[HookPoint] = frozenset(HookPoint) - {HookPoint.OTHER}
    denies: frozenset[HookPoint]
    for_model: frozenset[HookPoint]
    for_person: frozenset[HookPoint]
    ask: AskSupport
    failures: str = ""
    types_without_event: bool = False


_GATES = frozenset(
    {HookPoint.PROMPT, HookPoint.BEFORE_TOOL, HookPoint.STOP, HookPoint.SUBAGENT_STOP}
)
_NO_END = frozenset(HookPoint) - {HookPoint.SESSION_END, HookPoint.OTHER}
_CONTEXT = frozenset({HookPoint.SESSION_START, HookPoint.PROMPT, HookPoint.AFTER_TOOL})

ABILITIES: Mapping[str, ClientAbilities] = {
    CLAUDE: ClientAbilities(
        title="Claude Code",
        denies=_GATES,
        for_model=_CONTEXT | {HookPoint.BEFORE_TOOL},  # at a stop, it would make the agent go on
        for_person=_NO_END,
        ask=AskSupport.PERSON,
    ),
    CODEX: ClientAbilities(
        title="Codex CLI",
        denies=_GATES,
        for_model=_CONTEXT | {HookPoint.BEFORE_TOOL},
        for_person=_NO_END,
        ask=AskSupport.DENY,  # on `ask`, it would run the call
        failures="reports failed calls only for MCP tools",
        types_without_event=True,
    ),
    GEMINI: ClientAbilities(
        title="Gemini CLI",
        hook_events=frozenset(HookPoint) - {HookPoint.OTHER, HookPoint.SUBAGENT_STOP},
        denies=_GATES - {HookPoint.SUBAGENT_STOP},  # its subagents have no events
        for_model=_CONTEXT,  # ignored before a tool call
        for_person=_NO_END,
        ask=AskSupport.DENY,  # on `ask`, it would hang without a person
    ),
    QWEN: ClientAbilities(
        title="Qwen Code",
        denies=_GATES,
        for_model=_CONTEXT,  # ignored before a tool call
        for_person=_NO_END,
        ask=AskSupport.PERSON,
    ),
    COPILOT: ClientAbilities(
        title="GitHub Copilot CLI",
        denies=_GATES,
        for_model=_CONTEXT | {HookPoint.BEFORE_TOOL},
        for_person=frozenset(),  # it has no field for this
        ask=AskSupport.PERSON,
    ),
    DROID: ClientAbilities(
        title="Factory Droid",
        denies=_GATES,
        for_model=_CONTEXT,  # ignored before a tool call
        for_person=_NO_END,
        ask=AskSupport.DENY,  # on `ask`, it would run the call
        failures="sends no event after a failed call",
    ),
    OPENCODE: ClientAbilities(
        title="OpenCode",
        hook_events=frozenset(HookPoint) - {HookPoint.OTHER, HookPoint.SESSION_END},
        denies=frozenset({HookPoint.PROMPT, HookPoint.BEFORE_TOOL}),  # a stop cannot be blocked
        for_model=frozenset({HookPoint.PROMPT, HookPoint.AFTER_TOOL}),
        for_person=frozenset(),
        ask=AskSupport.DENY,
    ),
    CURSOR: ClientAbilities(
        title="Cursor",
        denies=_GATES,
        # Before a tool call, a text that is too long would deny the call. At a prompt, some of the
        # Cursor programs read the text and drop it.
        for_model=frozenset({HookPoint.SESSION_START, HookPoint.AFTER_TOOL}),
        for_person=frozenset(),  # a text for the person is shown only with a denial
        ask=AskSupport.DENY,  # before a tool call it reads `ask` and runs the call anyway
    ),
}

# The names for people.
TITLES: Mapping[str, str] = {
    BUS: "the bus",
    CHAT: "a chat",
    PYTHON: "a Python program",
    WORKTREE: "`bylaw policies`",
    **{host: abilities.title for host, abilities in ABILITIES.items()},
}

# The kinds of events that a hook event stands for, in the order in which they are decided.
_AT_A_STOP = (Kind.MESSAGE, Kind.TURN_END, Kind.AGENT_STOP)
KINDS_AT: Mapping[HookPoint, tuple[Kind, ...]] = {
    HookPoint.SESSION_START: (Kind.SESSION_START,),
    HookPoint.PROMPT: (Kind.PROMPT, Kind.MESSAGE, Kind.TURN_START),
    HookPoint.BEFORE_TOOL: (Kind.TOOL_BEFORE,),
    HookPoint.AFTER_TOOL: (Kind.TOOL_AFTER, Kind.MESSAGE),
    HookPoint.STOP: _AT_A_STOP,
    HookPoint.SUBAGENT_STOP: _AT_A_STOP,
    HookPoint.SESSION_END: (Kind.SESSION_END,),
    HookPoint.OTHER: (),
}
# When a notice is due. An immediate notice is due at the event that makes it.
NOTICE_AT: Mapping[DeliverAt, HookPoint] = {
    DeliverAt.TURN_START: HookPoint.PROMPT,
    DeliverAt.AFTER_TOOL: HookPoint.AFTER_TOOL,
}

# The events that can reach rules in a host. Events that rules emit can occur in every host.
_CONVERSATION_KINDS = frozenset(Kind) - {Kind.FILE, Kind.BUS}
SENDS: Mapping[str, frozenset[Kind]] = {
    BUS: frozenset({Kind.BUS, Kind.FILE, Kind.CUSTOM}),
    CHAT: _CONVERSATION_KINDS,
    PYTHON: frozenset(Kind),
    WORKTREE: frozenset({Kind.MESSAGE, Kind.AGENT_STOP, Kind.CUSTOM}),
    **{
        host: frozenset(kind for moment in abilities.hook_events for kind in KINDS_AT[moment])
        | {Kind.FILE, Kind.CUSTOM}  # files are compared after calls and at stops
        for host, abilities in ABILITIES.items()
    },
}

CARRIES_OUT: Mapping[str, frozenset[Op]] = {
    BUS: frozenset(
        {
            *(Op.COMMAND_RUN, Op.LOCK_ACQUIRE, Op.LOCK_RELEASE),
            *(Op.BUS_WRITE, Op.APPROVAL_REQUEST),
        }
    ),
    CHAT: _POLICIES | {Op.MESSAGE_INSERT, Op.TOOL_CALL, Op.AGENT_RUN, Op.HISTORY_COMPACT, Op.LOG},
    PYTHON: frozenset({Op.MESSAGE_INSERT, Op.LOG, Op.PROMPT_SHOW, Op.OUTPUT_REPLACE, Op.TOOL_CALL}),
    WORKTREE: _POLICIES,
    **dict.fromkeys(ABILITIES, _HOOKS),
}


# Takes the step that is due and the event that caused it.
Performer: TypeAlias = "Callable[[DueStep, Event], StepOutcome]"
Performers: TypeAlias = Mapping[Op, Performer]
NO_PERFORMERS: Performers = MappingProxyType({})

NOT_OFFERED = StepOutcome(EffectStatus.NOT_CARRIED_OUT, {"error": "the host cannot do this"})
NS_PER_MS = 1_000_000


def perform_step(due: DueStep, event: Event, performers: Performers) -> tuple[StepOutcome, int]:
    """Perform a step; return its result and the milliseconds. An exception is a failed step."""
    if isinstance(due.step, (*SESSION_STEPS, EventEmit)):
        return DONE, 0  # done by the session or by the queue of events
    performer = performers.get(due.step.op)
    if performer is None:
        return NOT_OFFERED, 0
    begun = monotonic_ns()
    try:
        outcome = _as_recorded(performer(due, event))
    except BylawError as problem:
        outcome = StepOutcome(EffectStatus.FAILED, {"error": str(problem)})
    except Exception as problem:  # noqa: BLE001 - any exception of a host's code fails the step
        outcome = StepOutcome(
            EffectStatus.FAILED, {"error": f"{type(problem).__name__}: {problem}"}
        )
    return outcome, (monotonic_ns() - begun) // NS_PER_MS


def _as_recorded(outcome: StepOutcome) -> StepOutcome:
    """Return the result as a record will store it, so that all code sees the same value."""
    if outcome.result is None:
        return outcome
    return StepOutcome(outcome.status, msgspec.json.decode(msgspec.json.encode(outcome.result)))
