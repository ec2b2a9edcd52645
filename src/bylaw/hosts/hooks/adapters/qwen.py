"""Qwen Code: the format of Claude Code with the tools of Gemini CLI.

At stops it sends the size of the context. When a turn continues after a tool, it announces this as
a prompt without text, which also accepts context.
"""

from __future__ import annotations

from bylaw.hosts.hooks import tool_names as tools
from bylaw.hosts.hooks.adapters.claude_form import KNOWN, MOMENTS, ClaudeForm
from bylaw.hosts.hooks.base import Adapter
from bylaw.runtime.effects import ABILITIES, QWEN

_FORM = ClaudeForm(
    moments=MOMENTS,
    sorts={
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
    sorts=_FORM.sorts,
    read=_FORM.read,
    answer=_FORM.answer,
)
