"""What an adapter says → one line of JSON, and what our process prints with it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from bylaw.hosts.hooks.base import Output
from bylaw.hosts.hooks.closing import REFUSED

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Told
    from bylaw.model.values import JSON

# What is printed where there is nothing to say, for clients that want to hear something.
NOTHING = Output("{}\n")


def in_json(value: JSON) -> str:
    """One line that holds one JSON document, whatever texts are in it."""
    try:
        return msgspec.json.encode(value).decode() + "\n"
    except UnicodeEncodeError:  # half of a surrogate pair
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return line.encode("utf-8", "replace").decode() + "\n"


def refusal(words: dict[str, JSON], reason: str, exit_code: int = REFUSED) -> Output:
    """The client's own words, the reason where people look for it, and the exit code."""
    return Output(in_json(words), reason + "\n", exit_code)


def context(told: Told) -> str:
    """All texts for the model as one."""
    return "\n\n".join(told.for_model)
