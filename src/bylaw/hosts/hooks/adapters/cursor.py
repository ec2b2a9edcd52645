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

from bylaw.hosts.hooks import tool_names as tools
from bylaw.hosts.hooks.adapters import claude_form
from bylaw.hosts.hooks.adapters.cursor_calls import SORTS, call_of
from bylaw.hosts.hooks.base import STOPS, Adapter, Heard, Output
from bylaw.hosts.hooks.fields import own_transcript, prompted, said, text, texts, unknown, whole
from bylaw.hosts.hooks.saying import NOTHING, context, in_json, refusal
from bylaw.model.vocabulary import Moment
from bylaw.runtime.effects import ABILITIES, CURSOR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.hooks.base import Payload, Told
    from bylaw.model.values import JSON

_MOMENTS: Mapping[str, Moment] = {
    "sessionStart": Moment.SESSION_START,
    "beforeSubmitPrompt": Moment.PROMPT,
    "preToolUse": Moment.BEFORE_TOOL,
    "beforeMCPExecution": Moment.BEFORE_TOOL,
    "postToolUse": Moment.AFTER_TOOL,
    "postToolUseFailure": Moment.AFTER_TOOL,
    "stop": Moment.STOP,
    "subagentStop": Moment.SUBAGENT_STOP,
    "sessionEnd": Moment.SESSION_END,
}
_BY_HAND: Mapping[str, Moment] = {
    "beforeShellExecution": Moment.BEFORE_TOOL,
    "beforeReadFile": Moment.BEFORE_TOOL,
    "afterShellExecution": Moment.AFTER_TOOL,
    "afterMCPExecution": Moment.AFTER_TOOL,
    "afterFileEdit": Moment.AFTER_TOOL,
}
_READ: Mapping[str, Moment] = {**_MOMENTS, **_BY_HAND, **claude_form.MOMENTS}
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


def read(name: str, payload: Payload) -> Heard:
    """Read one event of the client."""
    moment, project = _moment(name, payload), _project(payload)
    cwd = text(payload, "cwd") or project
    fields = unknown(payload, _KNOWN)
    if moment is Moment.OTHER:
        about = Heard(name=name, moment=moment, cwd=cwd, project=project, unknown=fields)
        return replace(about, passed_over=name in _READ)
    is_sub = moment is Moment.SUBAGENT_STOP
    session = text(payload, "parent_conversation_id") if is_sub else ""
    transcript = own_transcript(payload, is_sub=is_sub)
    return Heard(
        name=name,
        moment=moment,
        session=session or text(payload, "session_id") or text(payload, "conversation_id"),
        cwd=cwd,
        project=project,
        agent=(text(payload, "subagent_id") or "subagent") if is_sub else "",
        text=_text(moment, payload),
        call=call_of(name, moment, payload),
        transcript=transcript,
        again=bool(whole(payload, "loop_count")),
        unknown=fields,
    )


def answer(heard: Heard, told: Told) -> Output:
    """Build the answer that the client accepts; an empty object if there is nothing to report."""
    if told.refused:
        return refusal(_refusal(heard, told.reason), told.reason, exit_code=0)
    if told.for_model and heard.moment in ABILITIES[CURSOR].for_model:
        return Output(in_json({"additional_context": context(told)}))
    return NOTHING


def _refusal(heard: Heard, reason: str) -> dict[str, JSON]:
    if heard.moment in STOPS:
        return {"followup_message": reason}
    if heard.moment is Moment.PROMPT:
        return {"continue": False, "user_message": reason}
    if heard.name == "beforeReadFile":
        return {"permission": "deny", "user_message": reason}
    return {"permission": "deny", "user_message": reason, "agent_message": reason}


def _moment(name: str, payload: Payload) -> Moment:
    moment = _READ.get(name, Moment.OTHER)
    if name == "preToolUse" and text(payload, "tool_name").startswith(tools.CURSOR_MCP):
        return Moment.OTHER  # beforeMCPExecution follows
    if moment in STOPS and text(payload, "status") not in ("completed", ""):
        return Moment.OTHER  # a person or an error stopped the agent, so it does not continue
    return moment


def _project(payload: Payload) -> str:
    return next(iter(texts(payload, "workspace_roots")), "")


def _text(moment: Moment, payload: Payload) -> str | None:
    if moment is Moment.PROMPT:
        return prompted(payload, "prompt")
    return said(payload, "summary") if moment is Moment.SUBAGENT_STOP else None


ADAPTER = Adapter(
    name=CURSOR,
    moments=_MOMENTS,
    sorts=SORTS,
    project_variable="CURSOR_PROJECT_DIR",
    read=read,
    answer=answer,
)
