"""A policy as its file says it, checked: what the reader makes and the lowering takes."""

from __future__ import annotations

from enum import StrEnum

import msgspec
from msgspec import Struct


class Mode(StrEnum):
    """How a policy decides when to fire; `created` is an extension."""

    TRIGGER = "trigger"
    SET = "set"
    PAIR = "pair"
    CREATED = "created"


class CompareTo(StrEnum):
    """What the work tree is compared to."""

    BASE = "base"
    DEFAULT_TIP = "default_tip"
    PROMPT = "prompt"


class RunFor(StrEnum):
    """How often a command runs."""

    EACH_MATCH = "each_match"
    ALL_MATCHES = "all_matches"


class CommandAction(Struct, frozen=True):
    """`action`: the command as it is written, and its words with placeholders in them."""

    command: str
    words: tuple[str, ...]
    run_for: RunFor


class WrittenPolicy(Struct, frozen=True, kw_only=True):
    """One policy. `trigger` are the patterns of its mode: the trigger's, the set's, the pair's one.

    `id` is the stem of its file, `title` what people read. Without an action the body is shown.
    It begins at the first line of its file; `last_line` is where it ends.
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
    """A policy as bytes, for the next time that its text is loaded."""
    return msgspec.msgpack.encode(policy)


def from_note(note: bytes) -> WrittenPolicy | None:
    """The policy that `to_note` wrote; None for anything else."""
    try:
        return _DECODER.decode(note)
    except msgspec.MsgspecError:
        return None
