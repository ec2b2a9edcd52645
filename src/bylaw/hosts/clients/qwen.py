"""Qwen Code: the format of Claude Code with the tools of Gemini CLI.

At stops it sends the size of the context. When a turn continues after a tool, it announces this as
a prompt without text, which also accepts context.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bylaw.hosts.clients import tools
from bylaw.hosts.clients.base import MODEL, Adapter, ToolCall, TrialClient
from bylaw.hosts.clients.claude_format import KNOWN, MOMENTS, ClaudeFormat
from bylaw.runtime.effects import ABILITIES, QWEN

if TYPE_CHECKING:
    from bylaw.hosts.clients.base import TrialPlace
    from bylaw.model.values import JSON

_FORMAT = ClaudeFormat(
    moments=MOMENTS,
    tool_kinds={
        **dict.fromkeys(("run_shell_command", "monitor"), tools.SHELL),
        **dict.fromkeys(("write_file", "edit", "replace", "notebook_edit"), tools.WRITE),
        **dict.fromkeys(
            ("read_file", "read_many_files", "list_directory", "glob", "grep_search"), tools.READ
        ),
        "web_fetch": tools.FETCH,
        "web_search": tools.SEARCH,
        **dict.fromkeys(("agent", "task"), tools.AGENT),
    },
    takes_context=ABILITIES[QWEN].for_model,
    known=KNOWN
    | {
        *("timestamp", "tool_call_id", "submitted_prompt", "crons"),
        *("context_usage", "context_limit", "input_tokens"),
    },
    tokens="input_tokens",
)

ADAPTER = Adapter(
    name=QWEN,
    moments=MOMENTS,
    project_variable="QWEN_PROJECT_DIR",
    tool_kinds=_FORMAT.tool_kinds,
    read=_FORMAT.read,
    answer=_FORMAT.answer,
)


_CANARY_SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}},
    "model": {"name": MODEL},
    "general": {"enableAutoUpdate": False},
    "privacy": {"usageStatisticsEnabled": False},
}


def _canary_variables(place: TrialPlace) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": f"{place.url}/v1",
        "OPENAI_MODEL": MODEL,
    }


def _canary_call(command: str) -> ToolCall:
    how: dict[str, JSON] = {"description": "canary", "is_background": False}
    return ToolCall("run_shell_command", {"command": command, **how})


CLIENT = TrialClient(
    host=QWEN,
    program="qwen",
    files=lambda _: {".qwen/settings.json": msgspec.json.encode(_CANARY_SETTINGS).decode()},
    variables=_canary_variables,
    again=("--continue",),
    options=("-o", "json", "--yolo", "-p"),
    shell=_canary_call,
)
