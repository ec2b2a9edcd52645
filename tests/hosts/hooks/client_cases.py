"""Clients, their events, and what may come in and go out, for tests of all adapters."""

from hypothesis import strategies as st

from bylaw.hosts.clients import load_adapter
from bylaw.hosts.clients.base import HookReply
from bylaw.hosts.clients.fail_closed import DENIALS
from bylaw.model.vocabulary import HookPoint
from bylaw.runtime.effects import ABILITIES, AskSupport

# Every event that somebody may be installed for, by us or by hand.
EVENTS = {host: {*load_adapter(host).moments, *DENIALS[host], "Nobody"} for host in ABILITIES}
PAIRS = [(host, event) for host in ABILITIES for event in sorted(EVENTS[host])]
# Enough for every event of every client.
PAYLOAD = {
    "session_id": "s",
    "prompt": "do it",
    "text": "do it",
    "tool": "x",
    "tool_name": "x",
    "tool_input": {},
    "args": {},
    "command": "ls",
    "file_path": "x",
}
NAMES = [
    *("session_id", "sessionId", "cwd", "prompt", "text", "agent", "agent_id", "agentId"),
    *("tool", "tool_name", "toolName", "tool_input", "toolArgs", "args", "tool_use_id", "call_id"),
    *("tool_response", "toolResult", "tool_result", "tool_output", "output", "metadata", "error"),
    *("is_interrupt", "stop_hook_active", "last_assistant_message", "transcript_path"),
    *("duration_ms", "duration", "mcp_context", "mcp_server_name", "workspace_roots", "status"),
    *("loop_count", "input_tokens", "result_json", "file_path", "command", "edits", "response"),
]
TEXTS = st.text(max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
PAYLOADS = st.dictionaries(st.sampled_from(NAMES) | TEXTS, VALUES, max_size=12)
# Some of what a client would send, some of it spoilt.
SPOILT = PAYLOADS.map(lambda given: {**PAYLOAD, **given})
# Half of a surrogate pair comes in with JSON, too.
WORDS = st.text(st.characters(), min_size=1, max_size=60)
TOLD = st.builds(
    HookReply,
    refused=st.booleans(),
    asked=st.booleans(),
    reason=WORDS,
    for_model=st.lists(WORDS, max_size=3).map(tuple),
    for_person=st.lists(WORDS, max_size=3).map(tuple),
)


def heard(host, event, payload=PAYLOAD):
    """What is read of an event."""
    return load_adapter(host).read(event, payload)


def as_delivered(host, moment, told):
    """Of what may be told, what `deliver` leaves for that moment."""
    abilities = ABILITIES[host]
    refused = told.refused and moment in abilities.denies
    asked = told.asked and moment is HookPoint.BEFORE_TOOL and abilities.ask is AskSupport.PERSON
    return HookReply(
        refused=refused,
        asked=asked and not refused,
        reason=told.reason,
        for_model=told.for_model if moment in abilities.for_model and not refused else (),
        for_person=told.for_person if moment in abilities.for_person else (),
    )
