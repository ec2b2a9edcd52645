"""GitHub Copilot CLI: read payloads, build answers.

An event has two names. Bylaw installs hooks by the names in camelCase. For a name in PascalCase,
Copilot sends the same fields in snake_case, with Claude Code's names of tools. It also does so for
hooks that it finds in `.claude/settings.json`. Both get the same answers. Claude Code's answers
would deny as well, but Copilot drops their reasons.

    in a subagent   a prompt and a stop of its own, with `agentId`, and then `subagentStop`

Only the last of these is decided: no person wrote the prompt, and one stop must count once. That
event names the transcript of the main agent, so only the text in the payload is the subagent's.
Calls have no ids. A command that fails is reported as a success; its exit code is at the end of the
output. A blocked stop is announced as a prompt with the reason as its text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.hosts.clients import claude_format, tools
from bylaw.hosts.clients.base import (
    MODEL,
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
from bylaw.hosts.clients.fields import (
    arguments_or_json,
    flag,
    mapping,
    optional_text,
    prompt_text,
    required_text,
    text,
    text_or_object,
)
from bylaw.model.values import as_text
from bylaw.model.vocabulary import CallStatus, HookPoint
from bylaw.runtime.effects import ABILITIES, COPILOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.clients.base import HookReply, Payload, TrialPlace
    from bylaw.hosts.clients.tools import ToolKind
    from bylaw.model.values import JSON

_FAILURE_EVENT = "postToolUseFailure"
_MOMENTS: Mapping[str, HookPoint] = {
    "sessionStart": HookPoint.SESSION_START,
    "userPromptSubmitted": HookPoint.PROMPT,
    "preToolUse": HookPoint.BEFORE_TOOL,
    "postToolUse": HookPoint.AFTER_TOOL,
    _FAILURE_EVENT: HookPoint.AFTER_TOOL,
    "agentStop": HookPoint.STOP,
    "subagentStop": HookPoint.SUBAGENT_STOP,
    "sessionEnd": HookPoint.SESSION_END,
}
_ALL_MOMENTS: Mapping[str, HookPoint] = {**_MOMENTS, **claude_format.MOMENTS}
_NOT_IN_SUBAGENTS = (HookPoint.PROMPT, HookPoint.STOP)
_TOOL_KINDS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("bash", "powershell", "Bash"), tools.SHELL),
    **dict.fromkeys(("create", "edit", "Write", "Edit"), tools.WRITE),
    **dict.fromkeys(("apply_patch", "ApplyPatch"), tools.PATCH),
    **dict.fromkeys(("view", "grep", "glob", "rg", "Read", "Grep", "Glob"), tools.READ),
    **dict.fromkeys(("web_fetch", "WebFetch"), tools.FETCH),
    **dict.fromkeys(("web_search", "WebSearch"), tools.SEARCH),
    **dict.fromkeys(("task", "Task", "Agent"), tools.AGENT),
}
_KNOWN = frozenset(
    {
        *("session_id", "timestamp", "cwd", "hook_event_name", "source", "initial_prompt"),
        *("prompt", "tool_name", "tool_args", "tool_input", "tool_result", "error", "reason"),
        *("transcript_path", "stop_reason", "stop_hook_active", "response"),
        *("agent_id", "agent_type", "agent_name", "parent_agent_id", "last_assistant_message"),
    }
)
# The report of a background task is announced as a prompt; no person wrote it.
_NOTIFICATION_PREFIX = "<system_notification>"
_CAPITAL = re.compile(r"(?<=[a-z0-9])[A-Z]")
_EXIT = re.compile(r"<shellId: \S+ completed with exit code (?P<code>-?\d+)>\s*\Z")
_ENDS: Mapping[str, CallStatus] = {
    "failure": CallStatus.ERROR,
    "timeout": CallStatus.TIMEOUT,
    "denied": CallStatus.DENIED,
    "rejected": CallStatus.DENIED,
}


def read(name: str, payload: Payload) -> HookEvent:
    """Read one event of the client."""
    fields = {_to_snake_case(key): value for key, value in payload.items()}
    agent, moment = text(fields, "agent_id"), _ALL_MOMENTS.get(name, HookPoint.OTHER)
    is_no_persons = moment is HookPoint.PROMPT and text(fields, "prompt").startswith(
        _NOTIFICATION_PREFIX
    )
    if moment is HookPoint.OTHER or is_no_persons or (agent and moment in _NOT_IN_SUBAGENTS):
        return HookEvent(
            name=name,
            moment=HookPoint.OTHER,
            cwd=text(fields, "cwd"),
            unknown=_unknown(payload),
            passed_over=name in _ALL_MOMENTS,
        )
    is_sub = moment is HookPoint.SUBAGENT_STOP
    return HookEvent(
        name=name,
        moment=moment,
        # A subagent has its own session id. Bylaw uses the session of its parent.
        session=text(fields, "parent_agent_id") or text(fields, "session_id"),
        cwd=text(fields, "cwd"),
        agent=agent or ("subagent" if is_sub else ""),
        text=_text(moment, fields),
        call=_call(name, moment, fields),
        transcript="" if is_sub else text(fields, "transcript_path"),
        again=flag(fields, "stop_hook_active"),
        unknown=_unknown(payload),
    )


def answer(heard: HookEvent, told: HookReply) -> Output:
    """Build the answer that the client accepts; empty if there is nothing to report."""
    if told.refused and heard.moment is not HookPoint.BEFORE_TOOL:
        return denial_output({"decision": "block", "reason": told.reason}, told.reason)
    if told.refused:
        return denial_output(_decision("deny", told.reason), told.reason)
    words = _decision("ask", told.reason) if told.asked else {}
    if told.for_model and heard.moment in ABILITIES[COPILOT].for_model:
        words["additionalContext"] = model_text(told)
    return Output(to_json_line(words) if words else "")


def _decision(decision: str, reason: str) -> dict[str, JSON]:
    return {"permissionDecision": decision, "permissionDecisionReason": reason}


def _unknown(payload: Payload) -> tuple[str, ...]:
    return tuple(sorted(key for key in payload if _to_snake_case(key) not in _KNOWN))


def _to_snake_case(key: str) -> str:
    return _CAPITAL.sub(lambda found: f"_{found[0].lower()}", key)


def _text(moment: HookPoint, fields: Payload) -> str | None:
    if moment is HookPoint.PROMPT:
        return prompt_text(fields, "prompt")
    told = optional_text(fields, "last_assistant_message")
    return optional_text(fields, "response") if told is None else told


def _call(name: str, moment: HookPoint, fields: Payload) -> Call | None:
    if moment not in (HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL):
        return None
    tool = required_text(fields, "tool_name")
    # Older versions sent JSON in a text.
    key = "tool_args" if "tool_args" in fields else "tool_input"
    given = arguments_or_json(fields, key, moment)
    also, args = tools.bylaw_names(tool, given, _TOOL_KINDS, tools.split_server_and_tool(tool, "-"))
    if moment is HookPoint.BEFORE_TOOL:
        return Call(tool=tool, also=also, args=args)
    if name in (_FAILURE_EVENT, claude_format.FAILURE_EVENT):
        told, status = _message(text_or_object(fields, "error")), CallStatus.ERROR
        return Call(tool=tool, also=also, args=args, status=status, error=told)
    # The keys inside have the same two spellings as the fields.
    result = {_to_snake_case(key): value for key, value in mapping(fields, "tool_result").items()}
    said_to_model = text(result, "text_result_for_llm", "tool_result")
    status = _status(also, text(result, "result_type", "tool_result"), said_to_model)
    return Call(tool=tool, also=also, args=args, status=status, result=said_to_model)


def _message(error: JSON) -> str:
    return text(error, "message", "error") if isinstance(error, dict) else as_text(error)


def _status(also: tuple[str, ...], kind: str, said_to_model: str) -> CallStatus:
    found = _EXIT.search(said_to_model) if also == tools.SHELL.also else None
    failed = found is not None and int(found["code"]) != 0
    return _ENDS.get(kind, CallStatus.ERROR if failed else CallStatus.OK)


ADAPTER = Adapter(
    name=COPILOT,
    moments=_MOMENTS,
    tool_kinds=_TOOL_KINDS,
    project_variable="COPILOT_PROJECT_DIR",
    read=read,
    answer=answer,
)


def _canary_variables(place: TrialPlace) -> dict[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": f"{place.url}/v1",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": MODEL,
        # Without it, Copilot silently does not load hooks of a folder that is not trusted.
        "COPILOT_ALLOW_ALL": "true",
    }


def _canary_call(command: str) -> ToolCall:
    return ToolCall("bash", {"command": command, "description": "canary"})


CLIENT = TrialClient(
    host=COPILOT,
    program="copilot",
    files=lambda _: {},
    variables=_canary_variables,
    again=("--continue",),
    options=("--no-color", "--allow-all-tools", "--allow-all-paths", "-p"),
    shell=_canary_call,
)
