"""The interface of a model, and what all providers share: retries, names and images.

The official packages can retry, but that is turned off: one of them would wait 49 days if a server
says so, neither retries when a stream breaks before its first text, and one rule for all providers
can be tested. In a file, names of tools and ids of calls may contain `.`, `:` and `/`, and may be
long. A name that a provider would reject is sent in another form, always the same one. Part of a
hash keeps similar names apart.
"""

from __future__ import annotations

import re
import time
from email.utils import parsedate_to_datetime
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from bylaw.model.display import brief
from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bylaw.hosts.chat.blocks import Image, Reply, Request, RequestMessage, ToolSpec


class ModelError(BylawError):
    """The model cannot be asked, or its answer cannot be used. The text is for a person."""


class ScriptEndedError(BylawError):
    """A scripted model has no more turns."""


class Model(Protocol):
    """One model of one provider."""

    name: str
    """Provider and model, such as `openai:gpt-5`."""
    summarises: bool
    """Whether it can be asked questions outside the chat."""
    hands_back: bool
    """Whether a person is next after a turn without calls. A script goes on by itself."""
    ended: bool
    """Whether it has no more turns: the end of a script."""

    def reply(self, request: Request, on_text: Callable[[str], None]) -> Reply:
        """Return one turn. `on_text` gets the pieces of its text. Raises ModelError if it fails."""

    def close(self) -> None:
        """Close the connections."""


# A model may think for minutes before its first text.
TIMEOUT_S = 300.0
CONNECT_S = 10.0
# Without this, a server could keep a turn open forever with signs of life.
MAX_TURN_S = 3_600.0
MAX_RETRIES = 4
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0


class AttemptFailure(Exception):  # noqa: N818 - not for callers, they get a ModelError
    """A failed attempt: the text for a person, and whether a retry may help."""

    def __init__(self, told: str, *, again: bool = False, wait_s: float | None = None) -> None:
        super().__init__(told)
        self.again = again
        self.wait_s = wait_s


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How long to wait for a model, and how many times to retry.

    `timeout_s` limits the time without data, `turn_s` the time of an attempt. Waits between
    attempts double from `first_wait_s` on.
    """

    timeout_s: float = TIMEOUT_S
    connect_s: float = CONNECT_S
    turn_s: float = MAX_TURN_S
    retries: int = MAX_RETRIES
    first_wait_s: float = FIRST_WAIT_S
    longest_wait_s: float = LONGEST_WAIT_S

    def wait_s(self, asked: int, failure: AttemptFailure) -> float | None:
        """Return how long to wait after `asked` attempts, None for no further attempt."""
        if not failure.again or asked > self.retries:
            return None
        if failure.wait_s is None:
            return min(self.first_wait_s * 2.0 ** (asked - 1), self.longest_wait_s)
        # An attempt before the time that the server gave would only be rejected again.
        return failure.wait_s if failure.wait_s <= self.longest_wait_s else None


def requested_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait, None if it does not say."""
    seconds = _number(headers.get("retry-after-ms", ""), 1_000)
    if seconds is None:
        seconds = _number(headers.get("retry-after", ""), 1)
    if seconds is None:
        seconds = _seconds_until(headers.get("retry-after", ""))
    return seconds if seconds is not None and seconds > 0 else None


def _number(written: str, divisor: int) -> float | None:
    try:
        number = float(written)
    except ValueError:
        return None
    return number / divisor if isfinite(number) else None


def _seconds_until(written: str) -> float | None:
    try:
        return parsedate_to_datetime(written).timestamp() - time.time()
    except (ValueError, OverflowError):
        return None


MAX_WIRE_NAME = 64

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_MARK_CHARS = 8


def wire_name(name: str, limit: int = MAX_WIRE_NAME) -> str:
    """Return a name of letters, digits, `_` and `-`, with at most `limit` characters."""
    if len(name) <= limit and _PLAIN.fullmatch(name):
        return name
    mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK_CHARS]
    return f"{_OTHER.sub('_', name[: limit - _MARK_CHARS - 1])}_{mark}"


def names_by_wire_name(tools: Iterable[ToolSpec]) -> dict[str, str]:
    """Map the sent names of tools to their own names."""
    return {wire_name(tool.name): tool.name for tool in tools}


# What both providers accept.
_DATA = re.compile(r"data:(image/(?:jpeg|png|gif|webp));base64,([A-Za-z0-9+/]+={0,2})")
_ADDRESSES = ("https://", "http://")


def split_data_uri(image: Image) -> tuple[str, str] | None:
    """Return media type and base64 of a `data:` URI, None for a web address.

    Raises ModelError for anything else.
    """
    if image.url.startswith(_ADDRESSES):
        return None
    if found := _DATA.fullmatch(image.url):
        return found[1], found[2]
    raise ModelError(
        f"cannot send the image `{brief(image.url)}`: "
        "it must be a web address or base64 of a JPEG, PNG, GIF or WebP"
    )


def refuse_images(message: RequestMessage) -> None:
    """Raise ModelError if a message has an image and its role does not allow one."""
    if message.images:
        raise ModelError(
            f"cannot send an image in a message of role `{message.role}`: move it to a user message"
        )
