"""How to start Gemini CLI for a canary test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bylaw.hosts.hooks.canary.base import TrialClient
from bylaw.hosts.hooks.canary.script import ToolCall
from bylaw.runtime.effects import GEMINI

if TYPE_CHECKING:
    from bylaw.hosts.hooks.canary.base import TrialPlace

_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
}


def _variables(place: TrialPlace) -> dict[str, str]:
    return {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": place.url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


def _shell(command: str) -> ToolCall:
    return ToolCall("run_shell_command", {"command": command, "description": "canary"})


CLIENT = TrialClient(
    host=GEMINI,
    program="gemini",
    files=lambda _: {".gemini/settings.json": msgspec.json.encode(_SETTINGS).decode()},
    variables=_variables,
    again=("--resume", "latest"),
    options=("-m", "gemini-2.5-flash", "-o", "json", "--yolo", "-p"),
    shell=_shell,
)
