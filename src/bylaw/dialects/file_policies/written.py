"""A checked policy as written: made by the reader, used by the lowering."""

from __future__ import annotations

from enum import StrEnum

import msgspec
from msgspec import Struct


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


class WrittenPolicy(Struct, frozen=True, kw_only=True):
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


_DECODER = msgspec.msgpack.Decoder(WrittenPolicy)


def to_note(policy: WrittenPolicy) -> bytes:
    """Encode a policy, so that the next load of the same text can skip parsing."""
    return msgspec.msgpack.encode(policy)


def from_note(note: bytes) -> WrittenPolicy | None:
    """Decode what `to_note` wrote; return None for anything else."""
    try:
        return _DECODER.decode(note)
    except msgspec.MsgspecError:
        return None
