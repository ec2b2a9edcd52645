"""How to start Claude Code for a canary test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.canary.base import TrialClient
from bylaw.hosts.hooks.canary.script import ToolCall
from bylaw.runtime.effects import CLAUDE

if TYPE_CHECKING:
    from bylaw.hosts.hooks.canary.base import TrialPlace

_TOOLS = "Bash,Read,Write,Edit"


def _variables(place: TrialPlace) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    }


def _shell(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command, "description": "canary"})


CLIENT = TrialClient(
    host=CLAUDE,
    program="claude",
    files=lambda _: {},
    variables=_variables,
    again=("--continue",),
    options=("-p", "--output-format", "json", "--allowedTools", _TOOLS, "--"),
    shell=_shell,
)
