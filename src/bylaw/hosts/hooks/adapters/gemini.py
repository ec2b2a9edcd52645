"""Gemini CLI: read payloads, build answers.

It does not understand Claude Code's denials; its own is `decision` with `deny`. Calls have no ids.
A blocked stop is announced as a prompt with the reason as its text. At the next stop Gemini CLI
appends the agent's new text to the text before the block.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.hosts.hooks import tool_names as tools
from bylaw.hosts.hooks.adapters.claude_form import result_for_model
from bylaw.hosts.hooks.base import Adapter, Call, Heard, Output
from bylaw.hosts.hooks.fields import (
    arguments,
    flag,
    mapping,
    needed,
    prompted,
    said,
    text,
    text_or_object,
    unknown,
)
from bylaw.hosts.hooks.saying import context, in_json, refusal
from bylaw.model.values import as_text
from bylaw.model.vocabulary import CallStatus, Moment
from bylaw.runtime.effects import ABILITIES, GEMINI

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.hooks.base import Payload, Told
    from bylaw.hosts.hooks.tool_names import Sort
    from bylaw.model.values import JSON

_MOMENTS: Mapping[str, Moment] = {
    "SessionStart": Moment.SESSION_START,
    "BeforeAgent": Moment.PROMPT,
    "BeforeTool": Moment.BEFORE_TOOL,
    "AfterTool": Moment.AFTER_TOOL,
    "AfterAgent": Moment.STOP,
    "SessionEnd": Moment.SESSION_END,
}
_SHELL = "run_shell_command"
_SORTS: Mapping[str, Sort] = {
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
_FAILED = re.compile(
    r"\n(?P<how>Exit Code: [1-9]\d*|Signal: [1-9A-Z]\w*)"
    r"(?:\n(?:Signal|Background PIDs|Process Group PGID): [\w, ]+)*"
    r"(?:\n</untrusted_context>)?\s*\Z"
)


def read(name: str, payload: Payload) -> Heard:
    """Read one event of the client."""
    moment = _MOMENTS.get(name, Moment.OTHER)
    if moment is Moment.OTHER:
        cwd, fields = text(payload, "cwd"), unknown(payload, _KNOWN)
        return Heard(name=name, moment=moment, cwd=cwd, unknown=fields)
    response = said(payload, "prompt_response")
    return Heard(
        name=name,
        moment=moment,
        session=text(payload, "session_id"),
        cwd=text(payload, "cwd"),
        text=prompted(payload, "prompt") if moment is Moment.PROMPT else response,
        grows=moment is Moment.STOP and response is not None,
        call=_call(moment, payload),
        transcript=text(payload, "transcript_path"),
        again=flag(payload, "stop_hook_active"),
        unknown=unknown(payload, _KNOWN),
    )


def answer(heard: Heard, told: Told) -> Output:
    """Build the answer that the client accepts; empty if there is nothing to report."""
    words: dict[str, JSON] = {}
    if told.for_person:
        words["systemMessage"] = "\n".join(told.for_person)
    if told.refused:
        return refusal({**words, "decision": "deny", "reason": told.reason}, told.reason)
    if told.for_model and heard.moment in ABILITIES[GEMINI].for_model:
        own: dict[str, JSON] = {"hookEventName": heard.name, "additionalContext": context(told)}
        words["hookSpecificOutput"] = own
    return Output(in_json(words) if words else "")


def _call(moment: Moment, payload: Payload) -> Call | None:
    if moment not in (Moment.BEFORE_TOOL, Moment.AFTER_TOOL):
        return None
    tool, given = needed(payload, "tool_name"), arguments(payload, "tool_input", moment)
    also, args = tools.our_names(tool, given, _SORTS, _servers(payload))
    if moment is Moment.BEFORE_TOOL:
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
    found = _FAILED.search(_below_output(response)) if tool == _SHELL else None
    return found["how"] if found else ""


def _below_output(response: Payload) -> str:
    """Return what the client wrote below a command's output; if that was cut, with the output."""
    told = as_text(response.get("llmContent")).removeprefix("<untrusted_context>\n")
    return told.removeprefix(f"Output: {as_text(response.get('returnDisplay'))}")


ADAPTER = Adapter(
    name=GEMINI,
    moments=_MOMENTS,
    sorts=_SORTS,
    project_variable="GEMINI_PROJECT_DIR",
    read=read,
    answer=answer,
)
