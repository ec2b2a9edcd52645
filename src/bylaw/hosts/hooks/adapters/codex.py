"""Codex CLI: the format of Claude Code, limited to what Codex's schemas allow.

An unknown key, `ask`, `allow` or an empty reason makes Codex drop the whole answer, and the tool
runs. Codex names every shell tool `Bash`, and every patch `apply_patch` with the text as `command`.
It does not report how a command ended. A patch that cannot be applied has no event after it.
"""

from __future__ import annotations

from bylaw.hosts.hooks import tool_names as tools
from bylaw.hosts.hooks.adapters.claude_form import KNOWN, WITHOUT_FAILURES, ClaudeForm
from bylaw.hosts.hooks.base import Adapter
from bylaw.runtime.effects import ABILITIES, CODEX

_FORM = ClaudeForm(
    moments=WITHOUT_FAILURES,
    sorts={
        "Bash": tools.SHELL,
        "shell": tools.SHELL_OF_WORDS,
        "exec_command": tools.SHELL,
        "local_shell": tools.SHELL_OF_WORDS,
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
    moments=WITHOUT_FAILURES,
    sorts=_FORM.sorts,
    read=_FORM.read,
    answer=_FORM.answer,
)
