"""OpenCode."""

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
# It fetches a package for plugins at its first start, unless that seems to be there. Ours needs it
# not, and there is no network here.
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
        # In a file they would have it install packages beside that file.
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
