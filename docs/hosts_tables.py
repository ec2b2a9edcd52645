"""Tables of one host for its page in docs/hosts/; see tables.py.

A coding agent has the tables of `OF_A_CLIENT`, such as `claude-tools`. Any other host has one
table, such as `chat-effects`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hooks_tables import EFFECTS, MOMENTS, event_names, or_if_there
from markdown_table import codes, table

from bylaw.hosts import clients
from bylaw.hosts.clients import TESTABLE
from bylaw.hosts.clients.base import Call, HookEvent, HookReply
from bylaw.hosts.hooks.install.config_file import SWITCHES
from bylaw.hosts.hooks.install.forms import CLIENTS
from bylaw.model.effects import SESSION_STEPS
from bylaw.model.vocabulary import HookPoint, Kind, Op
from bylaw.runtime import effects
from bylaw.runtime.effects import ABILITIES, CARRIES_OUT, KINDS_AT, SENDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bylaw.hosts.hooks.install.forms import Client

REASON = "no shell here\n(rule no-shell, guard.chatmd:2)"
TEXT = "Keep it short."
ANSWERS = (
    (HookPoint.BEFORE_TOOL, HookReply(refused=True, reason=REASON)),
    (HookPoint.STOP, HookReply(refused=True, reason=REASON)),
    (HookPoint.AFTER_TOOL, HookReply(for_model=(TEXT,))),
)
# How a client names a tool of an MCP server.
MCP = {
    effects.CLAUDE: "mcp__SERVER__TOOL",
    effects.CODEX: "mcp__SERVER__TOOL",
    effects.GEMINI: "mcp_SERVER_TOOL",
    effects.QWEN: "mcp__SERVER__TOOL",
    effects.COPILOT: "SERVER-TOOL",
    effects.DROID: "SERVER___TOOL",
    effects.OPENCODE: "SERVER_TOOL",
    effects.CURSOR: "MCP:TOOL",
}

_POLICIES = {
    Op.COMMAND_RUN: "runs the command of a file policy, if it is trusted, before any report",
    Op.ENTRY_WRITE: "writes a file in the queue of policies",
    Op.BASELINE_CAPTURE: "saves the state that later changes are compared with",
}
# How a host without a client performs each action.
BECOMES: Mapping[str, Mapping[Op, str]] = {
    effects.CHAT: {
        Op.MESSAGE_INSERT: "appends a block to the file; prints a line if the message is for the person",  # noqa: E501 - a cell
        Op.TOOL_CALL: "runs the tool, and appends its result to the file",
        Op.AGENT_RUN: "runs the agent, with its own transcript",
        Op.HISTORY_COMPACT: "shortens the file, see [compaction](../compaction.md)",
        Op.LOG: "prints a line on standard error",
        Op.PROMPT_SHOW: "appends a block for the model, which then continues",
        **_POLICIES,
    },
    effects.PYTHON: {
        Op.MESSAGE_INSERT: "adds to `reply.messages`",
        Op.PROMPT_SHOW: "adds to `reply.prompts`",
        Op.OUTPUT_REPLACE: "sets `reply.output`",
        Op.TOOL_CALL: "calls the function of that name in `tools`",
        Op.LOG: "writes a line to the logger `bylaw`",
    },
    effects.WORKTREE: {
        Op.PROMPT_SHOW: "prints on standard output, and exits with code 1",
        **_POLICIES,
    },
    effects.BUS: {
        Op.COMMAND_RUN: "runs the command, if it is trusted",
        Op.LOCK_ACQUIRE: "creates a file in `runtime/locks/`, or the rule fails",
        Op.LOCK_RELEASE: "removes that file",
        Op.BUS_WRITE: "writes evidence to `output`, `error` or `processing` of the bus",
        Op.APPROVAL_REQUEST: "writes a new message to `input`",
    },
}


def set_up(host: str) -> str:
    """Return which file `bylaw install` edits, and the steps that are left to the person."""
    return table(["", ""], _set_up(CLIENTS[host]))


def _set_up(client: Client) -> Iterator[list[str]]:
    yield ["`--project` edits", or_if_there(client.places.project)]
    yield ["`--user` edits", "; ".join(_of_user(client))]
    first = [f"with `--project`, {step}" for step in client.in_project]
    yield ["your next step", "; ".join([*first, *client.steps]) or "none"]
    if switch := SWITCHES.get(client.host):
        yield ["hooks are off", f"if `{switch.name}` is `{str(switch.off).lower()}`"]
    if client.node:
        yield ["needs", f"Node {client.node} or newer"]
    tried = f"`bylaw doctor --canary {client.host}` starts the client, and shows if it obeys"
    alone = "manually: its agent needs a service, so `--canary` cannot start it"
    yield ["to test it", tried if client.host in TESTABLE else alone]


def _of_user(client: Client) -> Iterator[str]:
    yield or_if_there([f"~/{client.places.home}/{name}" for name in client.places.user])
    for variable, below in client.places.variables:
        path = "/".join(part for part in (f"${variable}", below, client.places.user[-1]) if part)
        yield f"with `{variable}` set, `{path}`"


def events(host: str) -> str:
    """Return the events of the client, and the Bylaw events that rules get for each."""
    rows = [
        [codes(names), moment.value, codes(KINDS_AT[moment])]
        for moment in MOMENTS
        if (names := event_names(host, moment))
    ]
    return table(["Client event", "Event", "Bylaw events"], rows)


def effects_of_client(host: str) -> str:
    """Return how the client supports each action of a rule."""
    rows = [[name, cell(ABILITIES[host])] for name, cell in EFFECTS.items()]
    return table(["Action of a rule", "Here"], [*rows, *_carried(host)])


def _carried(host: str) -> Iterator[list[str]]:
    yield ["performed actions", codes(sorted(CARRIES_OUT[host]))]
    yield ["performed by Bylaw itself", codes(sorted(_anywhere()))]
    yield ["recorded as `not_carried_out`", codes(sorted(_not_carried_out(host)))]


def _anywhere() -> set[Op]:
    return {*(step.op for step in SESSION_STEPS), Op.EVENT_EMIT}


def _not_carried_out(host: str) -> set[Op]:
    return set(Op) - CARRIES_OUT[host] - _anywhere() - {Op.ANSWER}


def answers(host: str) -> str:
    """Return a denial, a blocked stop and a message to the model, in the format of the client."""
    return "```\n" + "\n".join(_answers(host)) + "\n```\n"


def _answers(host: str) -> Iterator[str]:
    adapter = clients.load_adapter(host)
    for moment, told in ANSWERS:
        if told.refused and moment not in ABILITIES[host].denies:
            continue
        event = event_names(host, moment)[0]
        output = adapter.answer(HookEvent(name=event, moment=moment, call=Call(tool="x")), told)
        yield f"{event}, exit code {output.exit_code}"
        yield f"  {output.stdout.strip()}"


def tools(host: str) -> str:
    """Return the Bylaw names of the tools of a client."""
    ours: dict[tuple[str, ...], list[str]] = {}
    for name, sort in clients.load_adapter(host).tool_kinds.items():
        ours.setdefault(sort.also, []).append(name)
    rows = [[codes(also), codes(names)] for also, names in ours.items()]
    return table(["Bylaw name", "Client name"], [*rows, ["`mcp:SERVER/TOOL`", f"`{MCP[host]}`"]])


def effects_elsewhere(host: str) -> str:
    """Return the events and actions of a host that is not a coding agent."""
    becomes = BECOMES[host]
    assert set(becomes) == CARRIES_OUT[host], set(becomes) ^ CARRIES_OUT[host]
    rows = [
        ["events for rules", codes(kind for kind in Kind if kind in SENDS[host])],
        *([f"`{op}`", becomes[op]] for op in Op if op in becomes),
        ["performed by Bylaw itself", codes(sorted(_anywhere()))],
        ["recorded as `not_carried_out`", codes(sorted(_not_carried_out(host)))],
    ]
    return table(["", "Here"], rows)


OF_A_CLIENT: dict[str, Callable[[str], str]] = {
    "set-up": set_up,
    "events": events,
    "effects": effects_of_client,
    "answers": answers,
    "tools": tools,
}
TABLES: dict[str, Callable[[], str]] = {
    **{
        f"{host}-{name}": partial(make, host)
        for host in ABILITIES
        for name, make in OF_A_CLIENT.items()
    },
    **{f"{host}-effects": partial(effects_elsewhere, host) for host in BECOMES},
}
