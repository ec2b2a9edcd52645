"""Factory Droid: the format of Claude Code with its own tools.

Before a tool, Droid ignores `decision` and accepts `hookSpecificOutput`. A failed call has no event
after it. Calls have no ids. The agent's last text is only in its transcript. A subagent's last text
is in the payload, together with the transcript of the main agent. A subagent has its own session,
whose start names the session of the agent that started it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bylaw.hosts.clients import tools
from bylaw.hosts.clients.base import MODEL, Adapter, ToolCall, TrialClient
from bylaw.hosts.clients.claude_format import KNOWN, MOMENTS_WITHOUT_FAILURE, ClaudeFormat
from bylaw.runtime.effects import ABILITIES, DROID

if TYPE_CHECKING:
    from bylaw.hosts.clients.base import TrialPlace

_FORMAT = ClaudeFormat(
    moments=MOMENTS_WITHOUT_FAILURE,
    tool_kinds={
        "Execute": tools.SHELL,
        **dict.fromkeys(("Create", "Edit", "MultiEdit", "NotebookEdit"), tools.WRITE),
        "ApplyPatch": tools.PATCH,
        **dict.fromkeys(("Read", "LS", "Grep", "Glob"), tools.READ),
        "FetchUrl": tools.FETCH,
        "WebSearch": tools.SEARCH,
        "Task": tools.AGENT,
    },
    takes_context=ABILITIES[DROID].for_model,
    known=KNOWN
    | {
        *("message_id", "tool_execution_count", "elapsed_time", "CLAUDE_ENV_FILE"),
        *("session_duration_ms", "message_count", "task_name", "task_result"),
        *("calling_session_id", "has_images"),
    },
    separator="___",
    result="task_result",
    parent="calling_session_id",
)

ADAPTER = Adapter(
    name=DROID,
    moments=MOMENTS_WITHOUT_FAILURE,
    project_variable="FACTORY_PROJECT_DIR",
    own_sessions=True,
    tool_kinds=_FORMAT.tool_kinds,
    read=_FORMAT.read,
    answer=_FORMAT.answer,
)


def _canary_files(place: TrialPlace) -> dict[str, str]:
    model = {
        "model": MODEL,
        "displayName": "Canary",
        "baseUrl": f"{place.url}/v1",
        "apiKey": "none",
        "provider": "generic-chat-completion-api",
        "maxOutputTokens": 4000,
    }
    return {".factory/settings.json": msgspec.json.encode({"customModels": [model]}).decode()}


def _canary_call(command: str) -> ToolCall:
    why = {"riskLevel": "low", "riskLevelReason": "canary", "summary": "canary"}
    return ToolCall("Execute", {"command": command, **why})


CLIENT = TrialClient(
    host=DROID,
    program="droid",
    files=_canary_files,
    variables=lambda _: {"FACTORY_API_KEY": "fk-none", "FACTORY_AIRGAP_ENABLED": "1"},
    verb=("exec",),
    options=("-m", "custom:Canary-0", "--auto", "high", "-o", "json"),
    shell=_canary_call,
)
