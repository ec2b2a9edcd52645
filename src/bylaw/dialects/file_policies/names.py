"""The names of the language, of its rule group and of the keys of a policy."""

from __future__ import annotations

from bylaw.dialects.file_policies.written import Mode
from bylaw.model.uid import built_in_uid, dialect_of

NAME = "policies"
GROUP = NAME
# The `rank` of a rule: at a stop, policies with a command come before those with instructions.
COMMAND_RANK, PROMPT_RANK = 1, 2
ABANDONED = built_in_uid(NAME, "abandoned")
MODE_KEYS = tuple(mode.value for mode in Mode)
KEYS = ("name", *MODE_KEYS, "safety", "action", "compare_to")
# Keys of the old format: the instructions were in the YAML, or in a named file (DW-139).
LEGACY_KEYS = ("instructions", "instructions_file")


def is_policy(uid: str) -> bool:
    """Return whether a rule belongs to a policy."""
    return dialect_of(uid) == NAME
