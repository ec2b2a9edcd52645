"""Read the tool call from a payload of Cursor. Several of its events report calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks import tool_names as tools
from bylaw.hosts.hooks.adapters import claude_form
from bylaw.hosts.hooks.base import Call
from bylaw.hosts.hooks.fields import arguments, arguments_or_json, flag, needed, said, text, whole
from bylaw.hosts.hooks.tool_names import CURSOR_MCP
from bylaw.model.strict_json import JsonError, read_json, without_halves
from bylaw.model.vocabulary import CallStatus, Moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.hooks.base import Payload
    from bylaw.hosts.hooks.tool_names import Sort
    from bylaw.model.values import JSON

SORTS: Mapping[str, Sort] = {
    "Shell": tools.SHELL,
    **dict.fromkeys(("Write", "Edit", "StrReplace", "Delete", "EditNotebook"), tools.WRITE),
    "ApplyPatch": tools.PATCH,
    **dict.fromkeys(("Read", "List", "LS", "Grep", "Glob", "ReadLints"), tools.READ),
    **dict.fromkeys(("Fetch", "WebFetch"), tools.FETCH),
    "WebSearch": tools.SEARCH,
    "Task": tools.AGENT,
}
_FAILURES = ("postToolUseFailure", claude_form.FAILED)
_ENDS: Mapping[str, CallStatus] = {
    "timeout": CallStatus.TIMEOUT,
    "permission_denied": CallStatus.DENIED,
}
# Events that belong to one tool, and the fields that are its arguments. The first field must be a
# text that is not empty.
_OF_ONE_TOOL: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "beforeShellExecution": ("Shell", ("command", "cwd", "sandbox")),
    "afterShellExecution": ("Shell", ("command", "cwd", "sandbox")),
    "beforeReadFile": ("Read", ("file_path",)),
    "afterFileEdit": ("Write", ("file_path", "edits")),
}
_OF_MCP = ("beforeMCPExecution", "afterMCPExecution")


def call_of(name: str, moment: Moment, payload: Payload) -> Call | None:
    """Return the call of an event; None if the event is not about a call."""
    if moment not in (Moment.BEFORE_TOOL, Moment.AFTER_TOOL):
        return None
    tool, given = _called(name, moment, payload)
    is_mcp = tool.startswith(CURSOR_MCP)
    server = text(payload, "mcp_server_name")
    servers = (f"{server}/{tool.removeprefix(CURSOR_MCP)}",) if is_mcp else ()
    also, args = tools.our_names(tool, given, SORTS, servers)
    # beforeMCPExecution has no id, so the event after the call must have none, too.
    call = "" if is_mcp else text(payload, "tool_use_id")
    if moment is Moment.BEFORE_TOOL:
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
        ms=whole(payload, "duration"),
    )


def _called(name: str, moment: Moment, payload: Payload) -> tuple[str, dict[str, JSON]]:
    if name in _OF_ONE_TOOL:
        tool, keys = _OF_ONE_TOOL[name]
        needed(payload, keys[0])
        return tool, {key: payload[key] for key in keys if key in payload}
    tool = needed(payload, "tool_name")
    if name not in _OF_MCP:
        return tool, arguments(payload, "tool_input", moment)
    return CURSOR_MCP + tool, arguments_or_json(payload, "tool_input", moment)


def _result(payload: Payload) -> JSON:
    """Return the result of a tool: JSON from a text, or the text."""
    for key in ("tool_output", "result_json", "output"):
        value = said(payload, key)
        if value is not None:
            try:
                return read_json(without_halves(value))
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
