"""The names of all elements, by what they may contain."""

from __future__ import annotations

# They contain text and inline elements.
MESSAGES = frozenset(
    ("user", "system", "developer", "assistant", "msg", "tool_call", "tool_response", "reasoning")
)
INLINE = frozenset(("doc", "img", "agent", "import"))
# They have no content, so one without an end tag gets none.
LEAVES = frozenset(("doc", "img", "import", "config", "moderator_runtime"))
# Some programs write these without an end tag.
MAY_STAY_OPEN = frozenset(("doc", "img", "import"))
# They have no effect at the top of a file.
IDLE_AT_TOP = frozenset(("doc", "img", "agent", "summary"))
# Every tag in them is an element.
OURS = frozenset(("rules", "policy"))
STRUCTURED = frozenset((*OURS, "tool", "shell_access"))
# In rules and policy these contain text.
BODIES = frozenset(("insert", "agent", "call"))
# Its content is read like the top of a file.
ARCHIVE = "archive"
KNOWN = frozenset((*MESSAGES, *INLINE, *LEAVES, *STRUCTURED, "summary", "script", ARCHIVE))
