"""Gemini CLI: read payloads, build answers.

It does not understand Claude Code's denials; its own is `decision` with `deny`. Calls have no ids.
A blocked stop is announced as a prompt with the reason as its text. At the next stop Gemini CLI
appends the agent's new text to the text before the block.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from bylaw.hosts.clients import tools
from bylaw.hosts.clients.base import (
    Adapter,
    Call,
    HookEvent,
    Output,
    ToolCall,
    TrialClient,
    denial_output,
    model_text,
    to_json_line,
)
from bylaw.hosts.clients.claude_format import result_for_model
from bylaw.hosts.clients.fields import (
    arguments,
    flag,
    mapping,
    optional_text,
    prompt_text,
    required_text,
    text,
    text_or_object,
    unknown_names,
)
from bylaw.model.values import as_text
from bylaw.model.vocabulary import CallStatus, HookPoint
from bylaw.runtime.effects import ABILITIES, GEMINI

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.clients.base import HookReply, Payload, TrialPlace
    from bylaw.hosts.clients.tools import ToolKind
    from bylaw.model.values import JSON

_MOMENTS: Mapping[str, HookPoint] = {
    "SessionStart": HookPoint.SESSION_START,
    "BeforeAgent": HookPoint.PROMPT,
    "BeforeTool": HookPoint.BEFORE_TOOL,
    "AfterTool": HookPoint.AFTER_TOOL,
    "AfterAgent": HookPoint.STOP,
    "SessionEnd": HookPoint.SESSION_END,
}
_SHELL = "run_shell_command"
_TOOL_KINDS: Mapping[str, ToolKind] = {
    _SHELL: tools.SHELL,
    **dict.fromkeys(("write_file", "replace"), tools.WRITE),
    **dict.fromkeys(("read_file", "read_many_files", "list_directory", "glob"), tools.READ),
    **dict.fromkeys(("grep_search", "search_file_content"), tools.READ),
    "web_fetch": tools.FETCH,
    "google_web_search": tools.SEARCH,
    **dict.fromkeys(("invoke_agent", "delegate_to_agent"), tools.AGENT),
}
_KNOWN = frozenset(
    {
        *("session_id", "transcript_path", "cwd", "hook_event_name", "timestamp", "source"),
        *("prompt", "tool_name", "tool_input", "tool_response", "mcp_context", "reason"),
        *("original_request_name", "prompt_response", "stop_hook_active"),
    }
)
# A failed command has a line about it below the output; a successful one has none. Only lines of
# the client may follow, because the output of a command may contain a line like this.
_FAILURE = re.compile(
    r"\n(?P<how>Exit Code: [1-9]\d*|Signal: [1-9A-Z]\w*)"
    r"(?:\n(?:Signal|Background PIDs|Process Group PGID): [\w, ]+)*"
    r"(?:\n</untrusted_context>)?\s*\Z"
)


def read(name: str, payload: Payload) -> HookEvent:
    """Read one event of the client."""
    moment = _MOMENTS.get(name, HookPoint.OTHER)
    if moment is HookPoint.OTHER:
        cwd, fields = text(payload, "cwd"), unknown_names(payload, _KNOWN)
        return HookEvent(name=name, moment=moment, cwd=cwd, unknown=fields)
    response = optional_text(payload, "prompt_response")
    return HookEvent(
        name=name,
        moment=moment,
        session=text(payload, "session_id"),
        cwd=text(payload, "cwd"),
        text=prompt_text(payload, "prompt") if moment is HookPoint.PROMPT else response,
        grows=moment is HookPoint.STOP and response is not None,
        call=_call(moment, payload),
        transcript=text(payload, "transcript_path"),
        again=flag(payload, "stop_hook_active"),
        unknown=unknown_names(payload, _KNOWN),
    )


def answer(heard: HookEvent, told: HookReply) -> Output:
    """Build the answer that the client accepts; empty if there is nothing to report."""
    words: dict[str, JSON] = {}
    if told.for_person:
        words["systemMessage"] = "\n".join(told.for_person)
    if told.refused:
        return denial_output({**words, "decision": "deny", "reason": told.reason}, told.reason)
    if told.for_model and heard.moment in ABILITIES[GEMINI].for_model:
        own: dict[str, JSON] = {"hookEventName": heard.name, "additionalContext": model_text(told)}
        words["hookSpecificOutput"] = own
    return Output(to_json_line(words) if words else "")


def _call(moment: HookPoint, payload: Payload) -> Call | None:
    if moment not in (HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL):
        return None
    tool, given = required_text(payload, "tool_name"), arguments(payload, "tool_input", moment)
    also, args = tools.bylaw_names(tool, given, _TOOL_KINDS, _servers(payload))
    if moment is HookPoint.BEFORE_TOOL:
        return Call(tool=tool, also=also, args=args)
    response = mapping(payload, "tool_response")
    result, error = result_for_model(response), _error(tool, response)
    status = CallStatus.ERROR if error else CallStatus.OK
    return Call(tool=tool, also=also, args=args, status=status, result=result, error=error)


def _servers(payload: Payload) -> tuple[str, ...]:
    found = mapping(payload, "mcp_context")
    server, tool = (text(found, key, "mcp_context") for key in ("server_name", "tool_name"))
    return (f"{server}/{tool}",) if server and tool else ()


def _error(tool: str, response: Payload) -> str:
    told = text_or_object(response, "error")
    if told:
        named = text(told, "message", "error") if isinstance(told, dict) else ""
        return named or as_text(told)
    found = _FAILURE.search(_below_output(response)) if tool == _SHELL else None
    return found["how"] if found else ""


def _below_output(response: Payload) -> str:
    """Return what the client wrote below a command's output; if that was cut, with the output."""
    told = as_text(response.get("llmContent")).removeprefix("<untrusted_context>\n")
    return told.removeprefix(f"Output: {as_text(response.get('returnDisplay'))}")


ADAPTER = Adapter(
    name=GEMINI,
    moments=_MOMENTS,
    tool_kinds=_TOOL_KINDS,
    project_variable="GEMINI_PROJECT_DIR",
    read=read,
    answer=answer,
)


_CANARY_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
}


def _canary_variables(place: TrialPlace) -> dict[str, str]:
    return {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": place.url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def _canary_call(command: str) -> ToolCall:
    return ToolCall("run_shell_command", {"command": command, "description": "canary"})


CLIENT = TrialClient(
    host=GEMINI,
    program="gemini",
    files=lambda _: {".gemini/settings.json": msgspec.json.encode(_CANARY_SETTINGS).decode()},
    variables=_canary_variables,
    again=("--resume", "latest"),
    options=("-m", "gemini-2.5-flash", "-o", "json", "--yolo", "-p"),
    shell=_canary_call,
)
