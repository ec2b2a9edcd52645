"""How to start Factory Droid for a canary test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bylaw.hosts.hooks.canary.base import TrialClient
from bylaw.hosts.hooks.canary.fake_model import MODEL
from bylaw.hosts.hooks.canary.script import ToolCall
from bylaw.runtime.effects import DROID

if TYPE_CHECKING:
    from bylaw.hosts.hooks.canary.base import TrialPlace


def _files(place: TrialPlace) -> dict[str, str]:
    model = {
        "model": MODEL,
        "displayName": "Canary",
        "baseUrl": f"{place.url}/v1",
        "apiKey": "none",
        "provider": "generic-chat-completion-api",
        "maxOutputTokens": 4000,
    }
    return {".factory/settings.json": msgspec.json.encode({"customModels": [model]}).decode()}


def _shell(command: str) -> ToolCall:
    why = {"riskLevel": "low", "riskLevelReason": "canary", "summary": "canary"}
    return ToolCall("Execute", {"command": command, **why})


CLIENT = TrialClient(
    host=DROID,
    program="droid",
    files=_files,
    variables=lambda _: {"FACTORY_API_KEY": "fk-none", "FACTORY_AIRGAP_ENABLED": "1"},
    verb=("exec",),
    options=("-m", "custom:Canary-0", "--auto", "high", "-o", "json"),
    shell=_shell,
)
