"""The content of a reply → one line of JSON, and the output of the hook process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec

from bylaw.hosts.hooks.base import Output
from bylaw.hosts.hooks.closing import REFUSED

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Told
    from bylaw.model.values import JSON

# The empty answer, for clients that expect one.
NOTHING = Output("{}\n")


def in_json(value: JSON) -> str:
    """Encode one JSON document on one line. Invalid characters in its texts are replaced."""
    try:
        return msgspec.json.encode(value).decode() + "\n"
    except UnicodeEncodeError:  # half of a surrogate pair
        line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return line.encode("utf-8", "replace").decode() + "\n"


def refusal(words: dict[str, JSON], reason: str, exit_code: int = REFUSED) -> Output:
    """Build a denial: the JSON of the client, the reason on standard error, and the exit code."""
    return Output(in_json(words), reason + "\n", exit_code)


def context(told: Told) -> str:
    """Join all texts for the model."""
    return "\n\n".join(told.for_model)
