"""Claude Code: read payloads, build answers; how to start it for a canary test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.clients import tools
from bylaw.hosts.clients.base import Adapter, ToolCall, TrialClient
from bylaw.hosts.clients.claude_format import MOMENTS, ClaudeFormat
from bylaw.runtime.effects import ABILITIES, CLAUDE

if TYPE_CHECKING:
    from bylaw.hosts.clients.base import TrialPlace

_FORMAT = ClaudeFormat(
    moments=MOMENTS,
    tool_kinds={
        **dict.fromkeys(("Bash", "PowerShell", "Monitor"), tools.SHELL),
        **dict.fromkeys(("Write", "Edit", "MultiEdit", "NotebookEdit"), tools.WRITE),
        **dict.fromkeys(("Read", "Glob", "Grep", "LS", "NotebookRead"), tools.READ),
        "WebFetch": tools.FETCH,
        "WebSearch": tools.SEARCH,
        **dict.fromkeys(("Agent", "Task"), tools.AGENT),
    },
    takes_context=ABILITIES[CLAUDE].for_model,
)

ADAPTER = Adapter(
    name=CLAUDE,
    moments=MOMENTS,
    project_variable="CLAUDE_PROJECT_DIR",
    tool_kinds=_FORMAT.tool_kinds,
    read=_FORMAT.read,
    answer=_FORMAT.answer,
)


_CANARY_TOOLS = "Bash,Read,Write,Edit"


def _canary_variables(place: TrialPlace) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    }


def _canary_call(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command, "description": "canary"})


CLIENT = TrialClient(
    host=CLAUDE,
    program="claude",
    files=lambda _: {},
    variables=_canary_variables,
    again=("--continue",),
    options=("-p", "--output-format", "json", "--allowedTools", _CANARY_TOOLS, "--"),
    shell=_canary_call,
)
