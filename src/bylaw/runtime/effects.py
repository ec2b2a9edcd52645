"""Effect × host, as data: what each host tells of and carries out, how a client can be spoken to.

A host performs nothing that its line does not name. Effects that only change the session need
nobody; an event that a rule emits is queued by Bylaw. `bylaw check --host` and the documentation
are made from these tables.
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

# What file policies need, wherever an agent stops.
_POLICIES = frozenset({Op.ENTRY_WRITE, Op.COMMAND_RUN, Op.PROMPT_SHOW, Op.BASELINE_CAPTURE})
_HOOKS = _POLICIES | {Op.MESSAGE_INSERT, Op.LOG}


class Ask(StrEnum):
    """What becomes of a call that a person has to decide."""

    PERSON = "the client asks the person"
    DENY = "denied, with the reason"


class ClientAbilities(Struct, frozen=True, kw_only=True):
    """What a coding agent can: what it tells us of, and how it can be spoken to.

    `hears` are the moments that it tells us of, `denies` those at which it takes a refusal,
    `for_model` and `for_person` those at which a text reaches the model or the person. What cannot
    be said to the model now is said at the next moment that is named. A warning is for the person,
    or for the model where the person cannot be told. `failures` says what it does not tell of
    calls that fail; `types_unheard`, that it types into programs that run and tells nobody.
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
        for_model=_CONTEXT | {Moment.BEFORE_TOOL},  # at a stop, context would make it go on
        for_person=_NO_END,
        ask=Ask.PERSON,
    ),
    CODEX: ClientAbilities(
        title="Codex CLI",
        denies=_GATES,
        for_model=_CONTEXT | {Moment.BEFORE_TOOL},
        for_person=_NO_END,
        ask=Ask.DENY,  # it would let the call run
        failures="says only of MCP tools whether a call failed",
        types_unheard=True,
    ),
    GEMINI: ClientAbilities(
        title="Gemini CLI",
        hears=frozenset(Moment) - {Moment.OTHER, Moment.SUBAGENT_STOP},
        denies=_GATES - {Moment.SUBAGENT_STOP},  # its subagents have no events
        for_model=_CONTEXT,  # before a tool it is ignored
        for_person=_NO_END,
        ask=Ask.DENY,  # it would hang where nobody sits
    ),
    QWEN: ClientAbilities(
        title="Qwen Code",
        denies=_GATES,
        for_model=_CONTEXT,  # before a tool it is ignored
        for_person=_NO_END,
        ask=Ask.PERSON,
    ),
    COPILOT: ClientAbilities(
        title="GitHub Copilot CLI",
        denies=_GATES,
        for_model=_CONTEXT | {Moment.BEFORE_TOOL},
        for_person=frozenset(),  # it has no field for that
        ask=Ask.PERSON,
    ),
    DROID: ClientAbilities(
        title="Factory Droid",
        denies=_GATES,
        for_model=_CONTEXT,  # before a tool it is ignored
        for_person=_NO_END,
        ask=Ask.DENY,  # it would let the call run
        failures="has no event after a call that failed",
    ),
    OPENCODE: ClientAbilities(
        title="OpenCode",
        hears=frozenset(Moment) - {Moment.OTHER, Moment.SESSION_END},
        denies=frozenset({Moment.PROMPT, Moment.BEFORE_TOOL}),  # a stop cannot be held up
        for_model=frozenset({Moment.PROMPT, Moment.AFTER_TOOL}),
        for_person=frozenset(),
        ask=Ask.DENY,
    ),
    CURSOR: ClientAbilities(
        title="Cursor",
        denies=_GATES,
        # Before a tool, a text that is too long would close the gate; at a prompt, some of its
        # programs read it and drop it.
        for_model=frozenset({Moment.SESSION_START, Moment.AFTER_TOOL}),
        for_person=frozenset(),  # what is for the person is shown with a refusal only
        ask=Ask.DENY,  # before a tool it is read and forgotten, and the call runs
    ),
}

# As people call them.
TITLES: Mapping[str, str] = {
    BUS: "the bus",
    CHAT: "a chat",
    PYTHON: "a Python program",
    WORKTREE: "`bylaw policies`",
    **{host: abilities.title for host, abilities in ABILITIES.items()},
}

# Which events of ours a moment means, in the order in which they are judged.
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
# When a notice is due; one that is immediate is due at whatever moment it is made.
NOTICE_AT: Mapping[DeliverAt, Moment] = {
    DeliverAt.TURN_START: Moment.PROMPT,
    DeliverAt.AFTER_TOOL: Moment.AFTER_TOOL,
}

# The events that can reach rules in a host; what rules emit themselves comes anywhere.
_OF_TALKS = frozenset(Kind) - {Kind.FILE, Kind.BUS}
SENDS: Mapping[str, frozenset[Kind]] = {
    BUS: frozenset({Kind.BUS, Kind.FILE, Kind.CUSTOM}),
    CHAT: _OF_TALKS,
    PYTHON: frozenset(Kind),
    WORKTREE: frozenset({Kind.MESSAGE, Kind.AGENT_STOP, Kind.CUSTOM}),
    **{
        host: frozenset(kind for moment in abilities.hears for kind in KINDS_AT[moment])
        | {Kind.FILE, Kind.CUSTOM}  # what changed on disk is looked for after calls and at stops
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
