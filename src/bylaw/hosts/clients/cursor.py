"""Cursor: read payloads, build answers.

One action fires several events, and a call must be decided and counted once:

    a shell command   preToolUse, beforeShellExecution, …, afterShellExecution, postToolUse
    an MCP tool       preToolUse, beforeMCPExecution, …, afterMCPExecution, postToolUse
    reading a file    preToolUse, beforeReadFile (with what was read), postToolUse
    writing a file    preToolUse, …, afterFileEdit, postToolUse

Bylaw installs preToolUse, postToolUse and postToolUseFailure, which `tool_use_id` links. For MCP
tools it uses beforeMCPExecution instead of preToolUse, since only that event names the server. The
other events are read as well, in case you install them by hand.

Hooks that Cursor finds in Claude Code's settings use the names of Claude Code's events. These have
no beforeMCPExecution, so there `PreToolUse` decides MCP tools, by `mcp:/TOOL`.

Cursor ignores an answer if the exit code is not 0, so the exit code is always 0. Cursor reads `ask`
before a tool and ignores it: the tool runs. A denied call is reported as a failed call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.hosts.clients import claude_format, tools
from bylaw.hosts.clients.base import (
    EMPTY_OUTPUT,
    STOPS,
    Adapter,
    Call,
    HookEvent,
    Output,
    denial_output,
    model_text,
    to_json_line,
)
from bylaw.hosts.clients.fields import (
    arguments,
    arguments_or_json,
    count,
    flag,
    optional_text,
    own_transcript,
    prompt_text,
    required_text,
    text,
    texts,
    unknown_names,
)
from bylaw.hosts.clients.tools import CURSOR_MCP_PREFIX
from bylaw.model.values import JsonError, read_json, replace_lone_surrogates
from bylaw.model.vocabulary import CallStatus, HookPoint
from bylaw.runtime.effects import ABILITIES, CURSOR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.clients.base import HookReply, Payload
    from bylaw.hosts.clients.tools import ToolKind
    from bylaw.model.values import JSON

TOOL_KINDS: Mapping[str, ToolKind] = {
    "Shell": tools.SHELL,
    **dict.fromkeys(("Write", "Edit", "StrReplace", "Delete", "EditNotebook"), tools.WRITE),
    "ApplyPatch": tools.PATCH,
    **dict.fromkeys(("Read", "List", "LS", "Grep", "Glob", "ReadLints"), tools.READ),
    **dict.fromkeys(("Fetch", "WebFetch"), tools.FETCH),
    "WebSearch": tools.SEARCH,
    "Task": tools.AGENT,
}
_FAILURES = ("postToolUseFailure", claude_format.FAILURE_EVENT)
_ENDS: Mapping[str, CallStatus] = {
    "timeout": CallStatus.TIMEOUT,
    "permission_denied": CallStatus.DENIED,
}
# Events that belong to one tool, and the fields that are its arguments. The first field must be a
# text that is not empty.
_TOOL_EVENTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "beforeShellExecution": ("Shell", ("command", "cwd", "sandbox")),
    "afterShellExecution": ("Shell", ("command", "cwd", "sandbox")),
    "beforeReadFile": ("Read", ("file_path",)),
    "afterFileEdit": ("Write", ("file_path", "edits")),
}
_MCP_EVENTS = ("beforeMCPExecution", "afterMCPExecution")


def read_call(name: str, moment: HookPoint, payload: Payload) -> Call | None:
    """Return the call of an event; None if the event is not about a call."""
    if moment not in (HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL):
        return None
    tool, given = _tool_and_arguments(name, moment, payload)
    is_mcp = tool.startswith(CURSOR_MCP_PREFIX)
    server = text(payload, "mcp_server_name")
    servers = (f"{server}/{tool.removeprefix(CURSOR_MCP_PREFIX)}",) if is_mcp else ()
    also, args = tools.bylaw_names(tool, given, TOOL_KINDS, servers)
    # beforeMCPExecution has no id, so the event after the call must have none, too.
    call = "" if is_mcp else text(payload, "tool_use_id")
    if moment is HookPoint.BEFORE_TOOL:
        return Call(tool=tool, also=also, args=args, id=call)
    result = _result(payload)
    return Call(
        tool=tool,
        also=also,
        args=args,
        id=call,
        status=_status(name, payload, result),
        result=result,
        error=text(payload, "error_message"),
        ms=count(payload, "duration"),
    )


def _tool_and_arguments(
    name: str, moment: HookPoint, payload: Payload
) -> tuple[str, dict[str, JSON]]:
    if name in _TOOL_EVENTS:
        tool, keys = _TOOL_EVENTS[name]
        required_text(payload, keys[0])
        return tool, {key: payload[key] for key in keys if key in payload}
    tool = required_text(payload, "tool_name")
    if name not in _MCP_EVENTS:
        return tool, arguments(payload, "tool_input", moment)
    return CURSOR_MCP_PREFIX + tool, arguments_or_json(payload, "tool_input", moment)


def _result(payload: Payload) -> JSON:
    """Return the result of a tool: JSON from a text, or the text."""
    for key in ("tool_output", "result_json", "output"):
        value = optional_text(payload, key)
        if value is not None:
            try:
                return read_json(replace_lone_surrogates(value))
            except JsonError:
                return value
    return None


def _status(name: str, payload: Payload, result: JSON) -> CallStatus:
    if name in _FAILURES:
        if flag(payload, "is_interrupt"):
            return CallStatus.CANCELLED
        return _ENDS.get(text(payload, "failure_type"), CallStatus.ERROR)
    told = result if isinstance(result, dict) else {}
    return CallStatus.ERROR if told.get("isError") is True or told.get("error") else CallStatus.OK


_MOMENTS: Mapping[str, HookPoint] = {
    "sessionStart": HookPoint.SESSION_START,
    "beforeSubmitPrompt": HookPoint.PROMPT,
    "preToolUse": HookPoint.BEFORE_TOOL,
    "beforeMCPExecution": HookPoint.BEFORE_TOOL,
    "postToolUse": HookPoint.AFTER_TOOL,
    "postToolUseFailure": HookPoint.AFTER_TOOL,
    "stop": HookPoint.STOP,
    "subagentStop": HookPoint.SUBAGENT_STOP,
    "sessionEnd": HookPoint.SESSION_END,
}
_MANUAL_MOMENTS: Mapping[str, HookPoint] = {
    "beforeShellExecution": HookPoint.BEFORE_TOOL,
    "beforeReadFile": HookPoint.BEFORE_TOOL,
    "afterShellExecution": HookPoint.AFTER_TOOL,
    "afterMCPExecution": HookPoint.AFTER_TOOL,
    "afterFileEdit": HookPoint.AFTER_TOOL,
}
_ALL_MOMENTS: Mapping[str, HookPoint] = {**_MOMENTS, **_MANUAL_MOMENTS, **claude_format.MOMENTS}
_KNOWN = frozenset(
    {
        *("conversation_id", "generation_id", "session_id", "model", "model_id", "model_params"),
        *("hook_event_name", "cursor_version", "workspace_roots", "user_email", "transcript_path"),
        *("tool_name", "tool_input", "tool_use_id", "parent_tool_call_id", "cwd", "agent_message"),
        *("tool_output", "duration", "error_message", "failure_type", "is_interrupt"),
        *("command", "sandbox", "output", "url", "mcp_server_name", "mcp_server_url"),
        *("result_json", "file_path", "content", "attachments", "edits", "prompt"),
        *("composer_mode", "status", "loop_count", "input_tokens", "output_tokens"),
        *("cache_read_tokens", "cache_write_tokens", "subagent_id", "subagent_type"),
        *("duration_ms", "summary", "parent_conversation_id", "child_conversation_id"),
        *("message_count", "tool_call_count", "modified_files", "git_branch", "task"),
        *("description", "agent_transcript_path", "is_background_agent", "reason", "final_status"),
    }
)


def read(name: str, payload: Payload) -> HookEvent:
    """Read one event of the client."""
    moment, project = _moment(name, payload), _project(payload)
    cwd = text(payload, "cwd") or project
    fields = unknown_names(payload, _KNOWN)
    if moment is HookPoint.OTHER:
        about = HookEvent(name=name, moment=moment, cwd=cwd, project=project, unknown=fields)
        return replace(about, passed_over=name in _ALL_MOMENTS)
    is_sub = moment is HookPoint.SUBAGENT_STOP
    session = text(payload, "parent_conversation_id") if is_sub else ""
    transcript = own_transcript(payload, is_sub=is_sub)
    return HookEvent(
        name=name,
        moment=moment,
        session=session or text(payload, "session_id") or text(payload, "conversation_id"),
        cwd=cwd,
        project=project,
        agent=(text(payload, "subagent_id") or "subagent") if is_sub else "",
        text=_text(moment, payload),
        call=read_call(name, moment, payload),
        transcript=transcript,
        again=bool(count(payload, "loop_count")),
        unknown=fields,
    )


def answer(heard: HookEvent, told: HookReply) -> Output:
    """Build the answer that the client accepts; an empty object if there is nothing to report."""
    if told.refused:
        return denial_output(_denial(heard, told.reason), told.reason, exit_code=0)
    if told.for_model and heard.moment in ABILITIES[CURSOR].for_model:
        return Output(to_json_line({"additional_context": model_text(told)}))
    return EMPTY_OUTPUT


def _denial(heard: HookEvent, reason: str) -> dict[str, JSON]:
    if heard.moment in STOPS:
        return {"followup_message": reason}
    if heard.moment is HookPoint.PROMPT:
        return {"continue": False, "user_message": reason}
    if heard.name == "beforeReadFile":
        return {"permission": "deny", "user_message": reason}
    return {"permission": "deny", "user_message": reason, "agent_message": reason}


def _moment(name: str, payload: Payload) -> HookPoint:
    moment = _ALL_MOMENTS.get(name, HookPoint.OTHER)
    if name == "preToolUse" and text(payload, "tool_name").startswith(tools.CURSOR_MCP_PREFIX):
        return HookPoint.OTHER  # beforeMCPExecution follows
    if moment in STOPS and text(payload, "status") not in ("completed", ""):
        return HookPoint.OTHER  # a person or an error stopped the agent, so it does not continue
    return moment


def _project(payload: Payload) -> str:
    return next(iter(texts(payload, "workspace_roots")), "")


def _text(moment: HookPoint, payload: Payload) -> str | None:
    if moment is HookPoint.PROMPT:
        return prompt_text(payload, "prompt")
    return optional_text(payload, "summary") if moment is HookPoint.SUBAGENT_STOP else None


ADAPTER = Adapter(
    name=CURSOR,
    moments=_MOMENTS,
    tool_kinds=TOOL_KINDS,
    project_variable="CURSOR_PROJECT_DIR",
    read=read,
    answer=answer,
)
