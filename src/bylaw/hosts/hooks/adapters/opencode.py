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

Another plugin may pass on what the client gives it, `{"input": …, "output": …}`.
`opencode_arguments` first converts that to the form above.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks import tool_names as tools
from bylaw.hosts.hooks.adapters.opencode_arguments import as_plugin_says
from bylaw.hosts.hooks.base import Adapter, Call, Heard, Output
from bylaw.hosts.hooks.fields import (
    arguments,
    mapping,
    needed,
    number,
    prompted,
    said,
    text,
    unknown,
)
from bylaw.hosts.hooks.saying import NOTHING, in_json, refusal
from bylaw.model.vocabulary import CallStatus, Moment
from bylaw.runtime.effects import ABILITIES, OPENCODE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.hosts.hooks.base import Payload, Told
    from bylaw.hosts.hooks.tool_names import Sort

_MOMENTS: Mapping[str, Moment] = {
    "session.created": Moment.SESSION_START,
    "chat.message": Moment.PROMPT,
    "tool.execute.before": Moment.BEFORE_TOOL,
    "tool.execute.after": Moment.AFTER_TOOL,
    "session.idle": Moment.STOP,
}
_SORTS: Mapping[str, Sort] = {
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


def read(name: str, payload: Payload) -> Heard:
    """Read one event of the plugin."""
    name, payload = as_plugin_says(name, payload)
    moment, agent = _MOMENTS.get(name, Moment.OTHER), text(payload, "agent")
    if moment is Moment.PROMPT and agent:
        moment = Moment.OTHER  # the prompt is from another agent, not from a person
    return Heard(
        name=name,
        moment=Moment.SUBAGENT_STOP if moment is Moment.STOP and agent else moment,
        session=text(payload, "session_id"),
        cwd=text(payload, "cwd"),
        project=text(payload, "cwd"),
        agent=agent,
        text=prompted(payload, "text") if moment is Moment.PROMPT else said(payload, "text"),
        call=_call(moment, payload),
        unknown=unknown(payload, _KNOWN),
        passed_over=moment is Moment.OTHER and name in _MOMENTS,
    )


def answer(heard: Heard, told: Told) -> Output:
    """Build the answer for the plugin."""
    if told.refused:
        return refusal({"decision": "block", "reason": told.reason}, told.reason)
    if told.for_model and heard.moment in ABILITIES[OPENCODE].for_model:
        return Output(in_json({"context": [*told.for_model]}))
    return NOTHING


def _call(moment: Moment, payload: Payload) -> Call | None:
    if moment not in (Moment.BEFORE_TOOL, Moment.AFTER_TOOL):
        return None
    tool = needed(payload, "tool")
    servers = tools.server_and_tool(tool, "_")
    also, args = tools.our_names(tool, arguments(payload, "args", moment), _SORTS, servers)
    call = text(payload, "call_id")
    if moment is Moment.BEFORE_TOOL:
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


ADAPTER = Adapter(name=OPENCODE, moments=_MOMENTS, sorts=_SORTS, read=read, answer=answer)
