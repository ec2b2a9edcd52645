"""Tables of effects by host: what each host sends and performs, and how to address each client.

A host performs only the steps that its row names. Steps that only change the session need no host,
and Bylaw itself queues the events that rules emit. `bylaw check --host` and the documentation use
these tables.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.vocabulary import DeliverAt, Kind, Moment, Op

if TYPE_CHECKING:
    from collections.abc import Mapping

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


class Ask(StrEnum):
    """What happens to a call that a person must decide."""

    PERSON = "the client asks the person"
    DENY = "denied, with the reason"


class ClientAbilities(Struct, frozen=True, kw_only=True):
    """What a coding agent supports: the events that it sends, and the replies that it accepts.

    `hears` are the hook events that the client sends, `denies` those at which it accepts a denial,
    `for_model` and `for_person` those at which a text reaches the model or the person. A text that
    cannot reach the model now is delivered at the next such event. A warning goes to the person, or
    to the model if it cannot reach the person. `failures` says which failed calls the client does
    not report. `types_unheard`: it types into running programs without a hook event.
    """

    title: str
    hears: frozenset[Moment] = frozenset(Moment) - {Moment.OTHER}
    denies: frozenset[Moment]
    for_model: frozenset[Moment]
    for_person: frozenset[Moment]
    ask: Ask
    failures: str = ""
    types_unheard: bool = False


_GATES = frozenset({Moment.PROMPT, Moment.BEFORE_TOOL, Moment.STOP, Moment.SUBAGENT_STOP})
_NO_END = frozenset(Moment) - {Moment.SESSION_END, Moment.OTHER}
_CONTEXT = frozenset({Moment.SESSION_START, Moment.PROMPT, Moment.AFTER_TOOL})

ABILITIES: Mapping[str, ClientAbilities] = {
    CLAUDE: ClientAbilities(
        title="Claude Code",
        denies=_GATES,
        for_model=_CONTEXT | {Moment.BEFORE_TOOL},  # at a stop, it would make the agent go on
        for_person=_NO_END,
        ask=Ask.PERSON,
    ),
    CODEX: ClientAbilities(
        title="Codex CLI",
        denies=_GATES,
        for_model=_CONTEXT | {Moment.BEFORE_TOOL},
        for_person=_NO_END,
        ask=Ask.DENY,  # on `ask`, it would run the call
        failures="reports failed calls only for MCP tools",
        types_unheard=True,
    ),
    GEMINI: ClientAbilities(
        title="Gemini CLI",
        hears=frozenset(Moment) - {Moment.OTHER, Moment.SUBAGENT_STOP},
        denies=_GATES - {Moment.SUBAGENT_STOP},  # its subagents have no events
        for_model=_CONTEXT,  # ignored before a tool call
        for_person=_NO_END,
        ask=Ask.DENY,  # on `ask`, it would hang without a person
    ),
    QWEN: ClientAbilities(
        title="Qwen Code",
        denies=_GATES,
        for_model=_CONTEXT,  # ignored before a tool call
        for_person=_NO_END,
        ask=Ask.PERSON,
    ),
    COPILOT: ClientAbilities(
        title="GitHub Copilot CLI",
        denies=_GATES,
        for_model=_CONTEXT | {Moment.BEFORE_TOOL},
        for_person=frozenset(),  # it has no field for this
        ask=Ask.PERSON,
    ),
    DROID: ClientAbilities(
        title="Factory Droid",
        denies=_GATES,
        for_model=_CONTEXT,  # ignored before a tool call
        for_person=_NO_END,
        ask=Ask.DENY,  # on `ask`, it would run the call
        failures="sends no event after a failed call",
    ),
    OPENCODE: ClientAbilities(
        title="OpenCode",
        hears=frozenset(Moment) - {Moment.OTHER, Moment.SESSION_END},
        denies=frozenset({Moment.PROMPT, Moment.BEFORE_TOOL}),  # a stop cannot be blocked
        for_model=frozenset({Moment.PROMPT, Moment.AFTER_TOOL}),
        for_person=frozenset(),
        ask=Ask.DENY,
    ),
    CURSOR: ClientAbilities(
        title="Cursor",
        denies=_GATES,
        # Before a tool call, a text that is too long would deny the call. At a prompt, some of the
        # Cursor programs read the text and drop it.
        for_model=frozenset({Moment.SESSION_START, Moment.AFTER_TOOL}),
        for_person=frozenset(),  # a text for the person is shown only with a denial
        ask=Ask.DENY,  # before a tool call it reads `ask` and runs the call anyway
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
KINDS_AT: Mapping[Moment, tuple[Kind, ...]] = {
    Moment.SESSION_START: (Kind.SESSION_START,),
    Moment.PROMPT: (Kind.PROMPT, Kind.MESSAGE, Kind.TURN_START),
    Moment.BEFORE_TOOL: (Kind.TOOL_BEFORE,),
    Moment.AFTER_TOOL: (Kind.TOOL_AFTER, Kind.MESSAGE),
    Moment.STOP: _AT_A_STOP,
    Moment.SUBAGENT_STOP: _AT_A_STOP,
    Moment.SESSION_END: (Kind.SESSION_END,),
    Moment.OTHER: (),
}
# When a notice is due. An immediate notice is due at the event that makes it.
NOTICE_AT: Mapping[DeliverAt, Moment] = {
    DeliverAt.TURN_START: Moment.PROMPT,
    DeliverAt.AFTER_TOOL: Moment.AFTER_TOOL,
}

# The events that can reach rules in a host. Events that rules emit can occur in every host.
_OF_TALKS = frozenset(Kind) - {Kind.FILE, Kind.BUS}
SENDS: Mapping[str, frozenset[Kind]] = {
    BUS: frozenset({Kind.BUS, Kind.FILE, Kind.CUSTOM}),
    CHAT: _OF_TALKS,
    PYTHON: frozenset(Kind),
    WORKTREE: frozenset({Kind.MESSAGE, Kind.AGENT_STOP, Kind.CUSTOM}),
    **{
        host: frozenset(kind for moment in abilities.hears for kind in KINDS_AT[moment])
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
