"""What OpenCode passes to any plugin, `{"input": …, "output": …}` → the payload of Bylaw's plugin.

    tool.execute.before   input: tool, sessionID, callID          output: args
    tool.execute.after    input: tool, sessionID, callID, args    output: output, metadata, error
    chat.message          input: sessionID                        output: parts
    event.NAME            input: type, properties

Only Bylaw's plugin knows which sessions belong to subagents. Here each session is on its own; only
the start of a subagent's session names its parent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.fields import OBJECTS, mapping, refuse_other, text

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Payload
    from bylaw.model.values import JSON

_EVENT = "event."
_OF_CALLS = frozenset({"tool", "args", "output", "metadata", "error"})


def as_plugin_says(name: str, payload: Payload) -> tuple[str, Payload]:
    """Return name and payload of an event in the form of Bylaw's plugin."""
    if not isinstance(payload.get("input"), dict):
        return name, payload
    given, output = mapping(payload, "input"), mapping(payload, "output")
    if "properties" in given:
        return name.removeprefix(_EVENT), _of_event(mapping(given, "properties"))
    session = {"session_id": text(given, "sessionID")}
    if "parts" in output:
        return name, {**session, "text": _spoken(output["parts"])}
    # `output` wins: before the call it has the arguments after changes by other plugins.
    about = {key: one for key, one in (given | output).items() if key in _OF_CALLS}
    return name, {**session, **about, "call_id": text(given, "callID")}


def _of_event(properties: Payload) -> Payload:
    info = mapping(properties, "info")
    session, parent = text(properties, "sessionID"), text(info, "parentID")
    agent = session if parent else ""
    return {"session_id": parent or session, "agent": agent, "cwd": text(info, "directory")}


def _spoken(parts: JSON) -> str:
    refuse_other("`parts`", parts, OBJECTS)
    spoken = [
        text(part, "text")
        for part in (parts if isinstance(parts, list) else [])
        if isinstance(part, dict) and part.get("type") == "text" and not part.get("synthetic")
    ]
    return "\n".join(spoken)
