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

from bylaw.hosts.hooks import tool_names as tools
from bylaw.hosts.hooks.adapters import claude_form
from bylaw.hosts.hooks.base import Adapter, Call, Heard, Output
from bylaw.hosts.hooks.fields import (
    arguments_or_json,
    flag,
    mapping,
    needed,
    prompted,
    said,
    text,
    text_or_object,
)
from bylaw.hosts.hooks.saying import context, in_json, refusal
from bylaw.model.values import as_text
from bylaw.model.vocabulary import CallStatus, Moment
from bylaw.runtime.effects import ABILITIES, COPILOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.hooks.base import Payload, Told
    from bylaw.hosts.hooks.tool_names import Sort
    from bylaw.model.values import JSON

_FAILED = "postToolUseFailure"
_MOMENTS: Mapping[str, Moment] = {
    "sessionStart": Moment.SESSION_START,
    "userPromptSubmitted": Moment.PROMPT,
    "preToolUse": Moment.BEFORE_TOOL,
    "postToolUse": Moment.AFTER_TOOL,
    _FAILED: Moment.AFTER_TOOL,
    "agentStop": Moment.STOP,
    "subagentStop": Moment.SUBAGENT_STOP,
    "sessionEnd": Moment.SESSION_END,
}
_BY_EITHER_NAME: Mapping[str, Moment] = {**_MOMENTS, **claude_form.MOMENTS}
_NOT_IN_SUBAGENTS = (Moment.PROMPT, Moment.STOP)
_SORTS: Mapping[str, Sort] = {
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
_ANNOUNCES = "<system_notification>"
_CAPITAL = re.compile(r"(?<=[a-z0-9])[A-Z]")
_EXIT = re.compile(r"<shellId: \S+ completed with exit code (?P<code>-?\d+)>\s*\Z")
_ENDS: Mapping[str, CallStatus] = {
    "failure": CallStatus.ERROR,
    "timeout": CallStatus.TIMEOUT,
    "denied": CallStatus.DENIED,
    "rejected": CallStatus.DENIED,
}


def read(name: str, payload: Payload) -> Heard:
    """Read one event of the client."""
    fields = {_snake(key): value for key, value in payload.items()}
    agent, moment = text(fields, "agent_id"), _BY_EITHER_NAME.get(name, Moment.OTHER)
    is_no_persons = moment is Moment.PROMPT and text(fields, "prompt").startswith(_ANNOUNCES)
    if moment is Moment.OTHER or is_no_persons or (agent and moment in _NOT_IN_SUBAGENTS):
        return Heard(
            name=name,
            moment=Moment.OTHER,
            cwd=text(fields, "cwd"),
            unknown=_unknown(payload),
            passed_over=name in _BY_EITHER_NAME,
        )
    is_sub = moment is Moment.SUBAGENT_STOP
    return Heard(
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


def answer(heard: Heard, told: Told) -> Output:
    """Build the answer that the client accepts; empty if there is nothing to report."""
    if told.refused and heard.moment is not Moment.BEFORE_TOOL:
        return refusal({"decision": "block", "reason": told.reason}, told.reason)
    if told.refused:
        return refusal(_decided("deny", told.reason), told.reason)
    words = _decided("ask", told.reason) if told.asked else {}
    if told.for_model and heard.moment in ABILITIES[COPILOT].for_model:
        words["additionalContext"] = context(told)
    return Output(in_json(words) if words else "")


def _decided(decision: str, reason: str) -> dict[str, JSON]:
    return {"permissionDecision": decision, "permissionDecisionReason": reason}


def _unknown(payload: Payload) -> tuple[str, ...]:
    return tuple(sorted(key for key in payload if _snake(key) not in _KNOWN))


def _snake(key: str) -> str:
    return _CAPITAL.sub(lambda found: f"_{found[0].lower()}", key)


def _text(moment: Moment, fields: Payload) -> str | None:
    if moment is Moment.PROMPT:
        return prompted(fields, "prompt")
    told = said(fields, "last_assistant_message")
    return said(fields, "response") if told is None else told


def _call(name: str, moment: Moment, fields: Payload) -> Call | None:
    if moment not in (Moment.BEFORE_TOOL, Moment.AFTER_TOOL):
        return None
    tool = needed(fields, "tool_name")
    # Older versions sent JSON in a text.
    key = "tool_args" if "tool_args" in fields else "tool_input"
    given = arguments_or_json(fields, key, moment)
    also, args = tools.our_names(tool, given, _SORTS, tools.server_and_tool(tool, "-"))
    if moment is Moment.BEFORE_TOOL:
        return Call(tool=tool, also=also, args=args)
    if name in (_FAILED, claude_form.FAILED):
        told, status = _message(text_or_object(fields, "error")), CallStatus.ERROR
        return Call(tool=tool, also=also, args=args, status=status, error=told)
    # The keys inside have the same two spellings as the fields.
    result = {_snake(key): value for key, value in mapping(fields, "tool_result").items()}
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
    sorts=_SORTS,
    project_variable="COPILOT_PROJECT_DIR",
    read=read,
    answer=answer,
)
