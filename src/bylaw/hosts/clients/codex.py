"""Codex CLI: the format of Claude Code, limited to what Codex's schemas allow.

An unknown key, `ask`, `allow` or an empty reason makes Codex drop the whole answer, and the tool
runs. Codex names every shell tool `Bash`, and every patch `apply_patch` with the text as `command`.
It does not report how a command ended. A patch that cannot be applied has no event after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.clients import tools
from bylaw.hosts.clients.base import Adapter, ToolCall, TrialClient
from bylaw.hosts.clients.claude_format import KNOWN, MOMENTS_WITHOUT_FAILURE, ClaudeFormat
from bylaw.runtime.effects import ABILITIES, CODEX

if TYPE_CHECKING:
    from bylaw.hosts.clients.base import TrialPlace

_FORMAT = ClaudeFormat(
    moments=MOMENTS_WITHOUT_FAILURE,
    tool_kinds={
        "Bash": tools.SHELL,
        "shell": tools.SHELL_WITH_WORDS,
        "exec_command": tools.SHELL,
        "local_shell": tools.SHELL_WITH_WORDS,
        "apply_patch": tools.PATCH,
        "view_image": tools.READ,
        "web_search": tools.SEARCH,
        **dict.fromkeys(("spawn_agent", "multi_agent_v1spawn_agent"), tools.AGENT),
    },
    takes_context=ABILITIES[CODEX].for_model,
    known=KNOWN | {"turn_id"},
)

ADAPTER = Adapter(
    name=CODEX,
    moments=MOMENTS_WITHOUT_FAILURE,
    tool_kinds=_FORMAT.tool_kinds,
    read=_FORMAT.read,
    answer=_FORMAT.answer,
)


_CANARY_SETTINGS = """\
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


def _canary_files(place: TrialPlace) -> dict[str, str]:
    repository = place.repository.replace("\\", "\\\\").replace('"', '\\"')
    return {".codex/config.toml": _CANARY_SETTINGS.format(url=place.url, repository=repository)}


def _canary_call(command: str) -> ToolCall:
    return ToolCall("exec_command", {"cmd": command})


CLIENT = TrialClient(
    host=CODEX,
    program="codex",
    files=_canary_files,
    variables=lambda _: {"CANARY_KEY": "none"},
    verb=("exec",),
    again=("resume", "--last"),
    # Skip what a person has to trust once: Bylaw made the folder.
    options=("--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"),
    shell=_canary_call,
)
