"""The hook format of Claude Code, which other clients adopted: read payloads, build answers.

Clients differ in the names of tools and in what they accept at which event. Their files have
these differences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.clients.base import (
    Call,
    HookEvent,
    Output,
    denial_output,
    model_text,
    to_json_line,
)
from bylaw.hosts.clients.fields import (
    arguments,
    count,
    flag,
    optional_text,
    own_transcript,
    prompt_text,
    required_text,
    text,
    unknown_names,
)
from bylaw.hosts.clients.tools import bylaw_names, split_server_and_tool
from bylaw.model.vocabulary import CallStatus, HookPoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.clients.base import HookReply, Payload
    from bylaw.hosts.clients.tools import ToolKind
    from bylaw.model.values import JSON

FAILURE_EVENT = "PostToolUseFailure"
MOMENTS: Mapping[str, HookPoint] = {
    "SessionStart": HookPoint.SESSION_START,
    "UserPromptSubmit": HookPoint.PROMPT,
    "PreToolUse": HookPoint.BEFORE_TOOL,
    "PostToolUse": HookPoint.AFTER_TOOL,
    FAILURE_EVENT: HookPoint.AFTER_TOOL,
    "Stop": HookPoint.STOP,
    "SubagentStop": HookPoint.SUBAGENT_STOP,
    "SessionEnd": HookPoint.SESSION_END,
}
MOMENTS_WITHOUT_FAILURE = {
    name: moment for name, moment in MOMENTS.items() if name != FAILURE_EVENT
}
KNOWN = frozenset(
    {
        *("session_id", "transcript_path", "cwd", "hook_event_name", "prompt_id", "effort"),
        *("permission_mode", "agent_id", "agent_type", "source", "model", "session_title"),
        *("prompt", "tool_name", "tool_input", "tool_use_id", "mcp_server", "tool_response"),
        *("duration_ms", "error", "is_interrupt", "stop_hook_active", "last_assistant_message"),
        *("background_tasks", "session_crons", "agent_transcript_path", "reason"),
    }
)


class ClaudeFormat(Struct, frozen=True, kw_only=True):
    """How one client differs: its events, tools, additional fields, and where it accepts context.

    `separator` is between server and tool in the names of MCP tools. `tokens` is the field with the
    size of the context. `result` is the field with a subagent's last text, `parent` the field with
    the session of the agent that started a subagent. A prompt that begins with one of `announces`
    is from the client, such as the report of a background task.
    """

    moments: Mapping[str, HookPoint]
    tool_kinds: Mapping[str, ToolKind]
    takes_context: frozenset[HookPoint]
    known: frozenset[str] = KNOWN
    separator: str = ""
    tokens: str = ""
    result: str = "last_assistant_message"
    parent: str = ""
    announces: tuple[str, ...] = ("<task-notification>",)

    def read(self, name: str, payload: Payload) -> HookEvent:
        """Read one event of the client."""
        agent = text(payload, "agent_id")
        moment = self.moments.get(name, HookPoint.OTHER)
        if moment is HookPoint.OTHER or (
            moment is HookPoint.PROMPT and self._is_not_from_person(payload)
        ):
            return HookEvent(
                name=name,
                moment=HookPoint.OTHER,
                cwd=text(payload, "cwd"),
                unknown=unknown_names(payload, self.known),
                passed_over=name in self.moments,
            )
        is_sub = moment is HookPoint.SUBAGENT_STOP
        return HookEvent(
            name=name,
            moment=moment,
            session=text(payload, "session_id"),
            parent=text(payload, self.parent) if self.parent else "",
            cwd=text(payload, "cwd"),
            agent=agent or ("subagent" if is_sub else ""),
            text=self._text(moment, payload),
            call=self._call(name, moment, payload),
            transcript=own_transcript(payload, is_sub=is_sub),
            again=flag(payload, "stop_hook_active"),
            tokens=count(payload, self.tokens) if self.tokens else None,
            unknown=unknown_names(payload, self.known),
        )

    def _is_not_from_person(self, payload: Payload) -> bool:
        """Return whether no person wrote a prompt: another agent or the client sent it."""
        prompt = text(payload, "prompt").lstrip()
        return bool(text(payload, "agent_id")) or prompt.startswith(self.announces)

    def _text(self, moment: HookPoint, payload: Payload) -> str | None:
        if moment is HookPoint.PROMPT:
            return prompt_text(payload, "prompt")
        is_sub = moment is HookPoint.SUBAGENT_STOP
        return optional_text(payload, self.result if is_sub else "last_assistant_message")

    def _call(self, name: str, moment: HookPoint, payload: Payload) -> Call | None:
        if moment not in (HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL):
            return None
        tool, given = required_text(payload, "tool_name"), arguments(payload, "tool_input", moment)
        servers = split_server_and_tool(tool, self.separator) if self.separator else ()
        also, args = bylaw_names(tool, given, self.tool_kinds, servers)
        return Call(
            tool=tool,
            also=also,
            args=args,
            # Without an id, calls and results are matched by tool and order. An id made from the
            # arguments would merge two equal calls into one.
            id=text(payload, "tool_use_id"),
            status=_status(name, moment, payload),
            result=result_for_model(payload.get("tool_response")),
            error=text(payload, "error") if name == FAILURE_EVENT else "",
            ms=count(payload, "duration_ms"),
        )

    def answer(self, heard: HookEvent, told: HookReply) -> Output:
        """Build the answer that the client accepts; empty if there is nothing to report."""
        words: dict[str, JSON] = {}
        if told.for_person:
            words["systemMessage"] = "\n".join(told.for_person)
        if told.refused and heard.moment is not HookPoint.BEFORE_TOOL:
            return denial_output({**words, "decision": "block", "reason": told.reason}, told.reason)
        own = self._hook_output(heard, told)
        if own:
            words["hookSpecificOutput"] = {"hookEventName": heard.name, **own}
        if told.refused:
            return denial_output(words, told.reason)
        return Output(to_json_line(words) if words else "")

    def _hook_output(self, heard: HookEvent, told: HookReply) -> dict[str, JSON]:
        if told.refused:
            return _decision("deny", told.reason)
        own = _decision("ask", told.reason) if told.asked else {}
        if told.for_model and heard.moment in self.takes_context:
            own["additionalContext"] = model_text(told)
        return own


def result_for_model(result: JSON) -> JSON:
    """Return what a tool gave to the model, without what is shown to people."""
    return result["llmContent"] if isinstance(result, dict) and "llmContent" in result else result


def _decision(decision: str, reason: str) -> dict[str, JSON]:
    return {"permissionDecision": decision, "permissionDecisionReason": reason}


def _status(name: str, moment: HookPoint, payload: Payload) -> CallStatus | None:
    if moment is HookPoint.BEFORE_TOOL:
        return None
    if name == FAILURE_EVENT:
        return CallStatus.CANCELLED if flag(payload, "is_interrupt") else CallStatus.ERROR
    result = payload.get("tool_response")
    failed = isinstance(result, dict) and result.get("isError") is True
    return CallStatus.ERROR if failed else CallStatus.OK
