"""Claude Code: read payloads, build answers."""

from __future__ import annotations

from bylaw.hosts.hooks import tool_names as tools
from bylaw.hosts.hooks.adapters.claude_form import MOMENTS, ClaudeForm
from bylaw.hosts.hooks.base import Adapter
from bylaw.runtime.effects import ABILITIES, CLAUDE

_FORM = ClaudeForm(
    moments=MOMENTS,
    sorts={
        **dict.fromkeys(("Bash", "PowerShell", "Monitor"), tools.SHELL),
        **dict.fromkeys(("Write", "Edit", "MultiEdit", "NotebookEdit"), tools.WRITE),
        **dict.fromkeys(("Read", "Glob", "Grep", "LS", "NotebookRead"), tools.READ),
        "WebFetch": tools.FETCH,
        "WebSearch": tools.SEARCH,
        **dict.fromkeys(("Agent", "Task"), tools.AGENT),
    },
    takes_context=ABILITIES[CLAUDE].for_model,
)

ADAPTER = Adapter(
    name=CLAUDE,
    moments=MOMENTS,
    project_variable="CLAUDE_PROJECT_DIR",
    sorts=_FORM.sorts,
    read=_FORM.read,
    answer=_FORM.answer,
)
