"""How to start Qwen Code for a canary test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bylaw.hosts.hooks.canary.base import TrialClient
from bylaw.hosts.hooks.canary.fake_model import MODEL
from bylaw.hosts.hooks.canary.script import ToolCall
from bylaw.runtime.effects import QWEN

if TYPE_CHECKING:
    from bylaw.hosts.hooks.canary.base import TrialPlace
    from bylaw.model.values import JSON

_SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}},
    "model": {"name": MODEL},
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
}


def _variables(place: TrialPlace) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{place.url}/v1",
        "OPENAI_MODEL": MODEL,
    }


def _shell(command: str) -> ToolCall:
    how: dict[str, JSON] = {"description": "canary", "is_background": False}
    return ToolCall("run_shell_command", {"command": command, **how})


CLIENT = TrialClient(
    host=QWEN,
    program="qwen",
    files=lambda _: {".qwen/settings.json": msgspec.json.encode(_SETTINGS).decode()},
    variables=_variables,
    again=("--continue",),
    options=("-o", "json", "--yolo", "-p"),
    shell=_shell,
)
