"""A checked policy as written, the names of its keys, and its instructions with files filled in.

The instructions have three placeholders, which are filled in once. Everything else is plain text.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from bylaw.model.display import list_limited, shown_path
from bylaw.model.rule import built_in_uid, dialect_of

if TYPE_CHECKING:
    from collections.abc import Sequence


class Mode(StrEnum):
    """The modes of a policy. `created` is an extension."""

    TRIGGER = "trigger"
    SET = "set"
    PAIR = "pair"
    CREATED = "created"


class CompareTo(StrEnum):
    """The baseline that the work tree is compared to."""

    BASE = "base"
    DEFAULT_TIP = "default_tip"
    PROMPT = "prompt"


class RunFor(StrEnum):
    """Whether a command runs once for each file, or once for all."""

    EACH_MATCH = "each_match"
    ALL_MATCHES = "all_matches"


class CommandAction(Struct, frozen=True):
    """`action`: the command as written, and its words with their placeholders."""

    command: str
    words: tuple[str, ...]
    run_for: RunFor


class PolicySyntax(Struct, frozen=True, kw_only=True):
    """One policy.

    `id` is the stem of its file, `title` is for people. `trigger` holds the patterns of its mode:
    of `trigger`, `set` or `created`, or the one of `pair`. Without an action the body is shown.
    A policy begins at line 1; `last_line` is where it ends.
    """

    id: str
    title: str
    mode: Mode
    trigger: tuple[str, ...]
    safety: tuple[str, ...] = ()
    expects: tuple[str, ...] = ()
    action: CommandAction | None = None
    compare_to: CompareTo = CompareTo.BASE
    body: str = ""
    last_line: int = 1


_DECODER = msgspec.msgpack.Decoder(PolicySyntax)


def to_note(policy: PolicySyntax) -> bytes:
    """Encode a policy, so that the next load of the same text can skip parsing."""
    return msgspec.msgpack.encode(policy)


def from_note(note: bytes) -> PolicySyntax | None:
    """Decode what `to_note` wrote; return None for anything else."""
    try:
        return _DECODER.decode(note)
    except msgspec.MsgspecError:
        return None


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


TRIGGER_FILE, TRIGGER_FILES = "{trigger_file}", "{trigger_files}"
EXPECTED_FILES = "{expected_files}"
MAX_NAMED = 20  # files in the text; the lists of the same step have all of them
_PLACEHOLDER = re.compile("|".join(map(re.escape, (TRIGGER_FILE, TRIGGER_FILES, EXPECTED_FILES))))


def fill_instructions(
    body: str, trigger_files: Sequence[str], missing: Sequence[str], most: int = MAX_NAMED
) -> str:
    """Fill at most `most` files into each placeholder; `{expected_files}` gets the missing ones."""
    values = {
        TRIGGER_FILE: list_paths(trigger_files, 1),
        TRIGGER_FILES: list_paths(trigger_files, most),
        EXPECTED_FILES: list_paths(missing, most),
    }
    return _PLACEHOLDER.sub(lambda found: values[found[0]], body)


def list_paths(paths: Sequence[str], most: int) -> str:
    """List at most `most` paths for people on one line, and how many more there are."""
    return list_limited(paths, most, shown_path)
