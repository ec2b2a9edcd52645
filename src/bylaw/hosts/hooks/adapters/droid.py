"""Factory Droid: the format of Claude Code with its own tools.

Before a tool, Droid ignores `decision` and accepts `hookSpecificOutput`. A failed call has no event
after it. Calls have no ids. The agent's last text is only in its transcript. A subagent's last text
is in the payload, together with the transcript of the main agent. A subagent has its own session,
whose start names the session of the agent that started it.
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
