"""How to start GitHub Copilot CLI for a canary test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.canary.base import TrialClient
from bylaw.hosts.hooks.canary.fake_model import MODEL
from bylaw.hosts.hooks.canary.script import ToolCall
from bylaw.runtime.effects import COPILOT

if TYPE_CHECKING:
    from bylaw.hosts.hooks.canary.base import TrialPlace


def _variables(place: TrialPlace) -> dict[str, str]:
    return {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": f"{place.url}/v1",
        "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": MODEL,
        # Without it, Copilot silently does not load hooks of a folder that is not trusted.
        "COPILOT_ALLOW_ALL": "true",
    }


def _shell(command: str) -> ToolCall:
    return ToolCall("bash", {"command": command, "description": "canary"})


CLIENT = TrialClient(
    host=COPILOT,
    program="copilot",
    files=lambda _: {},
    variables=_variables,
    again=("--continue",),
    options=("--no-color", "--allow-all-tools", "--allow-all-paths", "-p"),
    shell=_shell,
)
