"""How to start OpenCode for a canary test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bylaw.hosts.hooks.canary.base import TrialClient
from bylaw.hosts.hooks.canary.fake_model import MODEL
from bylaw.hosts.hooks.canary.script import ToolCall
from bylaw.runtime.effects import OPENCODE

if TYPE_CHECKING:
    from bylaw.hosts.hooks.canary.base import TrialPlace

_NAMED = f"canary/{MODEL}"
_NEEDED = {"dependencies": {"@opencode-ai/plugin": "*"}}
_LOCK = {"lockfileVersion": 3, "packages": {"": _NEEDED}}
# At its first start it downloads a package for plugins, unless that seems to be installed. Bylaw's
# plugin does not need it, and the test has no network.
_PACKAGES = {
    ".config/opencode/package.json": msgspec.json.encode(_NEEDED).decode(),
    ".config/opencode/package-lock.json": msgspec.json.encode(_LOCK).decode(),
    ".config/opencode/node_modules/.none": "",
}


def _variables(place: TrialPlace) -> dict[str, str]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "canary",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": "none"},
        "models": {MODEL: {"name": MODEL, "tool_call": True}},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": _NAMED,
        "small_model": _NAMED,
        "provider": {"canary": provider},
    }
    return {
        # In a file, these settings would make it install packages next to that file.
        "OPENCODE_CONFIG_CONTENT": msgspec.json.encode(settings).decode(),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }


def _shell(command: str) -> ToolCall:
    return ToolCall("bash", {"command": command, "description": "canary"})


CLIENT = TrialClient(
    host=OPENCODE,
    program="opencode",
    files=lambda _: _PACKAGES,
    variables=_variables,
    verb=("run",),
    again=("--continue",),
    options=("--format", "json"),
    shell=_shell,
)
