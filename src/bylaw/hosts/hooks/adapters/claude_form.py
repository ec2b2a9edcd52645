"""The hook format of Claude Code, which other clients adopted: read payloads, build answers.

Clients differ in the names of tools and in what they accept at which event. Their adapters have
these differences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.hooks.base import Call, Heard, Output
from bylaw.hosts.hooks.fields import (
    arguments,
    flag,
    needed,
    own_transcript,
    prompted,
    said,
    text,
    unknown,
    whole,
)
from bylaw.hosts.hooks.saying import context, in_json, refusal
from bylaw.hosts.hooks.tool_names import our_names, server_and_tool
from bylaw.model.vocabulary import CallStatus, Moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.hooks.base import Payload, Told
    from bylaw.hosts.hooks.tool_names import Sort
    from bylaw.model.values import JSON

FAILED = "PostToolUseFailure"
MOMENTS: Mapping[str, Moment] = {
    "SessionStart": Moment.SESSION_START,
    "UserPromptSubmit": Moment.PROMPT,
    "PreToolUse": Moment.BEFORE_TOOL,
    "PostToolUse": Moment.AFTER_TOOL,
    FAILED: Moment.AFTER_TOOL,
    "Stop": Moment.STOP,
    "SubagentStop": Moment.SUBAGENT_STOP,
    "SessionEnd": Moment.SESSION_END,
}
WITHOUT_FAILURES = {name: moment for name, moment in MOMENTS.items() if name != FAILED}
KNOWN = frozenset(
    {
        *("session_id", "transcript_path", "cwd", "hook_event_name", "prompt_id", "effort"),
        *("permission_mode", "agent_id", "agent_type", "source", "model", "session_title"),
        *("prompt", "tool_name", "tool_input", "tool_use_id", "mcp_server", "tool_response"),
        *("duration_ms", "error", "is_interrupt", "stop_hook_active", "last_assistant_message"),
        *("background_tasks", "session_crons", "agent_transcript_path", "reason"),
    }
)


class ClaudeForm(Struct, frozen=True, kw_only=True):
    """How one client differs: its events, tools, additional fields, and where it accepts context.

    `separator` is between server and tool in the names of MCP tools. `tokens` is the field with the
    size of the context. `result` is the field with a subagent's last text, `parent` the field with
    the session of the agent that started a subagent. A prompt that begins with one of `announces`
    is from the client, such as the report of a background task.
    """

    moments: Mapping[str, Moment]
    sorts: Mapping[str, Sort]
    takes_context: frozenset[Moment]
    known: frozenset[str] = KNOWN
    separator: str = ""
    tokens: str = ""
    result: str = "last_assistant_message"
    parent: str = ""
    announces: tuple[str, ...] = ("<task-notification>",)

    def read(self, name: str, payload: Payload) -> Heard:
        """Read one event of the client."""
        agent = text(payload, "agent_id")
        moment = self.moments.get(name, Moment.OTHER)
        if moment is Moment.OTHER or (moment is Moment.PROMPT and self._is_no_persons(payload)):
            return Heard(
                name=name,
                moment=Moment.OTHER,
                cwd=text(payload, "cwd"),
                unknown=unknown(payload, self.known),
                passed_over=name in self.moments,
            )
        is_sub = moment is Moment.SUBAGENT_STOP
        return Heard(
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
            tokens=whole(payload, self.tokens) if self.tokens else None,
            unknown=unknown(payload, self.known),
        )

    def _is_no_persons(self, payload: Payload) -> bool:
        """Return whether no person wrote a prompt: another agent or the client sent it."""
        prompt = text(payload, "prompt").lstrip()
        return bool(text(payload, "agent_id")) or prompt.startswith(self.announces)

    def _text(self, moment: Moment, payload: Payload) -> str | None:
        if moment is Moment.PROMPT:
            return prompted(payload, "prompt")
        is_sub = moment is Moment.SUBAGENT_STOP
        return said(payload, self.result if is_sub else "last_assistant_message")

    def _call(self, name: str, moment: Moment, payload: Payload) -> Call | None:
        if moment not in (Moment.BEFORE_TOOL, Moment.AFTER_TOOL):
            return None
        tool, given = needed(payload, "tool_name"), arguments(payload, "tool_input", moment)
        servers = server_and_tool(tool, self.separator) if self.separator else ()
        also, args = our_names(tool, given, self.sorts, servers)
        return Call(
            tool=tool,
            also=also,
            args=args,
            # Without an id, calls and results are matched by tool and order. An id made from the
            # arguments would merge two equal calls into one.
            id=text(payload, "tool_use_id"),
            status=_status(name, moment, payload),
            result=result_for_model(payload.get("tool_response")),
            error=text(payload, "error") if name == FAILED else "",
            ms=whole(payload, "duration_ms"),
        )

    def answer(self, heard: Heard, told: Told) -> Output:
        """Build the answer that the client accepts; empty if there is nothing to report."""
        words: dict[str, JSON] = {}
        if told.for_person:
            words["systemMessage"] = "\n".join(told.for_person)
        if told.refused and heard.moment is not Moment.BEFORE_TOOL:
            return refusal({**words, "decision": "block", "reason": told.reason}, told.reason)
        own = self._own_words(heard, told)
        if own:
            words["hookSpecificOutput"] = {"hookEventName": heard.name, **own}
        if told.refused:
            return refusal(words, told.reason)
        return Output(in_json(words) if words else "")

    def _own_words(self, heard: Heard, told: Told) -> dict[str, JSON]:
        if told.refused:
            return _decided("deny", told.reason)
        own = _decided("ask", told.reason) if told.asked else {}
        if told.for_model and heard.moment in self.takes_context:
            own["additionalContext"] = context(told)
        return own


def result_for_model(result: JSON) -> JSON:
    """Return what a tool gave to the model, without what is shown to people."""
    return result["llmContent"] if isinstance(result, dict) and "llmContent" in result else result


def _decided(decision: str, reason: str) -> dict[str, JSON]:
    return {"permissionDecision": decision, "permissionDecisionReason": reason}


def _status(name: str, moment: Moment, payload: Payload) -> CallStatus | None:
    if moment is Moment.BEFORE_TOOL:
        return None
    if name == FAILED:
        return CallStatus.CANCELLED if flag(payload, "is_interrupt") else CallStatus.ERROR
    result = payload.get("tool_response")
    failed = isinstance(result, dict) and result.get("isError") is True
    return CallStatus.ERROR if failed else CallStatus.OK
