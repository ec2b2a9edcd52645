"""Factory Droid: the form of Claude Code with tools of its own.

`decision` is not taken before a tool, `hookSpecificOutput` is. A call that fails has no event
after it, calls have no ids, and what the agent said last stands in its transcript only. What a
subagent said last is told, beside the transcript of the main agent. A subagent has a session of its
own, whose start names that of the agent which started it.
"""

from __future__ import annotations

from bylaw.hosts.hooks import tool_names as tools
from bylaw.hosts.hooks.adapters.claude_form import KNOWN, WITHOUT_FAILURES, ClaudeForm
from bylaw.hosts.hooks.base import Adapter
from bylaw.runtime.effects import ABILITIES, DROID

_FORM = ClaudeForm(
    moments=WITHOUT_FAILURES,
    sorts={
        "Execute": tools.SHELL,
        **dict.fromkeys(("Create", "Edit", "MultiEdit", "NotebookEdit"), tools.WRITE),
        "ApplyPatch": tools.PATCH,
        **dict.fromkeys(("Read", "LS", "Grep", "Glob"), tools.READ),
        "FetchUrl": tools.FETCH,
        "WebSearch": tools.SEARCH,
        "Task": tools.AGENT,
    },
    takes_context=ABILITIES[DROID].for_model,
    known=KNOWN
    | {
        *("message_id", "tool_execution_count", "elapsed_time", "CLAUDE_ENV_FILE"),
        *("session_duration_ms", "message_count", "task_name", "task_result"),
        *("calling_session_id", "has_images"),
    },
    separator="___",
    result="task_result",
    parent="calling_session_id",
)

ADAPTER = Adapter(
    name=DROID,
    moments=WITHOUT_FAILURES,
    project_variable="FACTORY_PROJECT_DIR",
    own_sessions=True,
    sorts=_FORM.sorts,
    read=_FORM.read,
    answer=_FORM.answer,
)
