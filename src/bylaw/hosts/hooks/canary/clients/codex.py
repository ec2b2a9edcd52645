"""How to start Codex CLI for a canary test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.hooks.canary.base import TrialClient
from bylaw.hosts.hooks.canary.script import ToolCall
from bylaw.runtime.effects import CODEX

if TYPE_CHECKING:
    from bylaw.hosts.hooks.canary.base import TrialPlace

_SETTINGS = """\
model = "gpt-5.5"
model_provider = "canary"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.canary]
name = "canary"
base_url = "{url}/v1"
env_key = "CANARY_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
[projects."{repository}"]
trust_level = "trusted"
"""


def _files(place: TrialPlace) -> dict[str, str]:
    repository = place.repository.replace("\\", "\\\\").replace('"', '\\"')
    return {".codex/config.toml": _SETTINGS.format(url=place.url, repository=repository)}


def _shell(command: str) -> ToolCall:
    return ToolCall("exec_command", {"cmd": command})


CLIENT = TrialClient(
    host=CODEX,
    program="codex",
    files=_files,
    variables=lambda _: {"CANARY_KEY": "none"},
    verb=("exec",),
    again=("resume", "--last"),
    # Skip what a person has to trust once: Bylaw made the folder.
    options=("--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"),
    shell=_shell,
)
