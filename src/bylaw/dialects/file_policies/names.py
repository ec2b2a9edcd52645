"""How the language, the group of its rules and the keys of a policy are called."""

from __future__ import annotations

from bylaw.dialects.file_policies.written import Mode
from bylaw.model.uid import built_in_uid, dialect_of

NAME = "policies"
GROUP = NAME
# The `rank` of a rule: at a stop, policies that run a command come before those that only tell.
COMMAND_RANK, PROMPT_RANK = 1, 2
ABANDONED = built_in_uid(NAME, "abandoned")
MODE_KEYS = tuple(mode.value for mode in Mode)
KEYS = ("name", *MODE_KEYS, "safety", "action", "compare_to")
# Of the old format: its text stood in the YAML, or in a file that it named (DW-139).
LEGACY_KEYS = ("instructions", "instructions_file")


def is_policy(uid: str) -> bool:
    """Whether a rule is one of a policy."""
    return dialect_of(uid) == NAME
