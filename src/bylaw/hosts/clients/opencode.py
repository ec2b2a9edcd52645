"""OpenCode: the payloads that Bylaw's plugin sends, and the answers that it reads.

The plugin runs in the client's own process and calls `bylaw hook opencode EVENT` with one JSON
object on standard input:

    session_id   of the main agent, also for events of a subagent
    agent        the id of the subagent's own session; empty for the main agent
    cwd          the folder of the project
    text         chat.message: what the person wrote; session.idle: what the agent said last
    tool, args, call_id                 tool.execute.before and tool.execute.after
    output, metadata, error             tool.execute.after; `error` only if the call failed

Events are `session.created`, `chat.message`, `tool.execute.before`, `tool.execute.after` and
`session.idle`. The plugin reads one JSON object from standard output:

    {}                                       nothing to report
    {"decision": "block", "reason": "…"}     throw an error with this message
    {"context": ["…"]}                       add these to the output of the tool, or as parts of
                                             the message

The plugin obeys that object. Without one it denies at a gate. A stop cannot be blocked here: the
reason is queued until the next event that can carry it.

Another plugin may pass on what the client gives it, `{"input": …, "output": …}`. That is first
converted to the form above:

    tool.execute.before   input: tool, sessionID, callID          output: args
    tool.execute.after    input: tool, sessionID, callID, args    output: output, metadata, error
    chat.message          input: sessionID                        output: parts
    event.NAME            input: type, properties

Only Bylaw's plugin knows which sessions belong to subagents. In the other form each session is on
its own; only the start of a subagent's session names its parent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bylaw.hosts.clients import tools
from bylaw.hosts.clients.base import (
    EMPTY_OUTPUT,
    MODEL,
    Adapter,
    Call,
    HookEvent,
    Output,
    ToolCall,
    TrialClient,
    denial_output,
    to_json_line,
)
from bylaw.hosts.clients.fields import (
    OBJECTS,
    arguments,
    mapping,
    number,
    optional_text,
    prompt_text,
    require_type,
    required_text,
    text,
    unknown_names,
)
from bylaw.model.vocabulary import CallStatus, HookPoint
from bylaw.runtime.effects import ABILITIES, OPENCODE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.clients.base import HookReply, Payload, TrialPlace
    from bylaw.hosts.clients.tools import ToolKind
    from bylaw.model.values import JSON

_EVENT = "event."
_CALL_FIELDS = frozenset({"tool", "args", "output", "metadata", "error"})


def to_plugin_form(name: str, payload: Payload) -> tuple[str, Payload]:
    """Return name and payload of an event in the form of Bylaw's plugin."""
    if not isinstance(payload.get("input"), dict):
        return name, payload
    given, output = mapping(payload, "input"), mapping(payload, "output")
    if "properties" in given:
        return name.removeprefix(_EVENT), _event_payload(mapping(given, "properties"))
    session = {"session_id": text(given, "sessionID")}
    if "parts" in output:
        return name, {**session, "text": _prompt_text(output["parts"])}
    # `output` wins: before the call it has the arguments after changes by other plugins.
    about = {key: one for key, one in (given | output).items() if key in _CALL_FIELDS}
    return name, {**session, **about, "call_id": text(given, "callID")}


def _event_payload(properties: Payload) -> Payload:
    info = mapping(properties, "info")
    session, parent = text(properties, "sessionID"), text(info, "parentID")
    agent = session if parent else ""
    return {"session_id": parent or session, "agent": agent, "cwd": text(info, "directory")}


def _prompt_text(parts: JSON) -> str:
    require_type("`parts`", parts, OBJECTS)
    spoken = [
        text(part, "text")
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, dict) and part.get("type") == "text" and not part.get("synthetic")
    ]
    return "\n".join(spoken)


_MOMENTS: Mapping[str, HookPoint] = {
    "session.created": HookPoint.SESSION_START,
    "chat.message": HookPoint.PROMPT,
    "tool.execute.before": HookPoint.BEFORE_TOOL,
    "tool.execute.after": HookPoint.AFTER_TOOL,
    "session.idle": HookPoint.STOP,
}
_TOOL_KINDS: Mapping[str, ToolKind] = {
    "bash": tools.SHELL,
    **dict.fromkeys(("write", "edit", "multiedit"), tools.WRITE),
    **dict.fromkeys(("patch", "apply_patch"), tools.PATCH),
    **dict.fromkeys(("read", "list", "glob", "grep"), tools.READ),
    "webfetch": tools.FETCH,
    "websearch": tools.SEARCH,
    "task": tools.AGENT,
}
_KNOWN = frozenset(
    {
        *("session_id", "agent", "cwd", "text", "tool", "args", "call_id"),
        *("output", "metadata", "error"),
    }
)


def read(name: str, payload: Payload) -> HookEvent:
    """Read one event of the plugin."""
    name, payload = to_plugin_form(name, payload)
    moment, agent = _MOMENTS.get(name, HookPoint.OTHER), text(payload, "agent")
    if moment is HookPoint.PROMPT and agent:
        moment = HookPoint.OTHER  # the prompt is from another agent, not from a person
    return HookEvent(
        name=name,
        moment=HookPoint.SUBAGENT_STOP if moment is HookPoint.STOP and agent else moment,
        session=text(payload, "session_id"),
        cwd=text(payload, "cwd"),
        project=text(payload, "cwd"),
        agent=agent,
        text=prompt_text(payload, "text")
        if moment is HookPoint.PROMPT
        else optional_text(payload, "text"),
        call=_call(moment, payload),
        unknown=unknown_names(payload, _KNOWN),
        passed_over=moment is HookPoint.OTHER and name in _MOMENTS,
    )


def answer(heard: HookEvent, told: HookReply) -> Output:
    """Build the answer for the plugin."""
    if told.refused:
        return denial_output({"decision": "block", "reason": told.reason}, told.reason)
    if told.for_model and heard.moment in ABILITIES[OPENCODE].for_model:
        return Output(to_json_line({"context": [*told.for_model]}))
    return EMPTY_OUTPUT


def _call(moment: HookPoint, payload: Payload) -> Call | None:
    if moment not in (HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL):
        return None
    tool = required_text(payload, "tool")
    servers = tools.split_server_and_tool(tool, "_")
    also, args = tools.bylaw_names(tool, arguments(payload, "args", moment), _TOOL_KINDS, servers)
    call = text(payload, "call_id")
    if moment is HookPoint.BEFORE_TOOL:
        return Call(tool=tool, also=also, args=args, id=call)
    error, metadata = text(payload, "error"), mapping(payload, "metadata")
    # The exit code of a killed command is null. Other tools have no exit code.
    failed = error or ("exit" in metadata and number(metadata, "exit", "metadata") != 0)
    return Call(
        tool=tool,
        also=also,
        args=args,
        id=call,
        status=CallStatus.ERROR if failed else CallStatus.OK,
        result=payload.get("output"),
        error=error,
    )


ADAPTER = Adapter(name=OPENCODE, moments=_MOMENTS, tool_kinds=_TOOL_KINDS, read=read, answer=answer)


_CANARY_MODEL_NAME = f"canary/{MODEL}"
_CANARY_DEPENDENCIES = {"dependencies": {"@opencode-ai/plugin": "*"}}
_CANARY_LOCK_FILE = {"lockfileVersion": 3, "packages": {"": _CANARY_DEPENDENCIES}}
# At its first start it downloads a package for plugins, unless that seems to be installed. Bylaw's
# plugin does not need it, and the test has no network.
_CANARY_PACKAGES = {
    ".config/opencode/package.json": msgspec.json.encode(_CANARY_DEPENDENCIES).decode(),
    ".config/opencode/package-lock.json": msgspec.json.encode(_CANARY_LOCK_FILE).decode(),
    ".config/opencode/node_modules/.none": "",
}


def _canary_variables(place: TrialPlace) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "canary",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": "none"},
        "models": {MODEL: {"name": MODEL, "tool_call": True}},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": _CANARY_MODEL_NAME,
        "small_model": _CANARY_MODEL_NAME,
        "provider": {"canary": provider},
    }
    return {
        # In a file, these settings would make it install packages next to that file.
        "OPENCODE_CONFIG_CONTENT": msgspec.json.encode(settings).decode(),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


def _canary_call(command: str) -> ToolCall:
    return ToolCall("bash", {"command": command, "description": "canary"})


CLIENT = TrialClient(
    host=OPENCODE,
    program="opencode",
    files=lambda _: _CANARY_PACKAGES,
    variables=_canary_variables,
    verb=("run",),
    again=("--continue",),
    options=("--format", "json"),
    shell=_canary_call,
)
