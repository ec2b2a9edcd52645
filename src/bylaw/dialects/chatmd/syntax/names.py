"""Which names are elements, and what each may hold."""

from __future__ import annotations

# Their content is text with the inline elements in it.
MESSAGES = frozenset(
    ("user", "system", "developer", "assistant", "msg", "tool_call", "tool_response", "reasoning")
)
INLINE = frozenset(("doc", "img", "agent", "import"))
# They hold nothing, so one without an end tag takes in nothing either.
LEAVES = frozenset(("doc", "img", "import", "config", "moderator_runtime"))
# Some programs write these without closing them.
MAY_STAY_OPEN = frozenset(("doc", "img", "import"))
# At the top they are read and nothing is done with them.
IDLE_AT_TOP = frozenset(("doc", "img", "agent", "summary"))
# Whatever stands in them is an element.
OURS = frozenset(("rules", "policy"))
STRUCTURED = frozenset((*OURS, "tool", "shell_access"))
# Inside rules and policy these hold text.
BODIES = frozenset(("insert", "agent", "call"))
# Its content is read as at the top.
ARCHIVE = "archive"
KNOWN = frozenset((*MESSAGES, *INLINE, *LEAVES, *STRUCTURED, "summary", "script", ARCHIVE))
