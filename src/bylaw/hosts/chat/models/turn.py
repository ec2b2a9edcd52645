"""Pieces of a provider's stream → one turn of the assistant that can be written to a file.

The server is not trusted: names and ids are reduced to plain characters, ids are made unique,
surrogates are joined or replaced, and everything that can grow has a limit.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bylaw.hosts.chat.blocks import ModelCall, Reply, Usage
from bylaw.hosts.chat.models.base import ModelError
from bylaw.model.display import brief, visible
from bylaw.model.values import MAX_COUNT
from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bylaw.hosts.chat.blocks import Request

# Text, names and arguments of one turn.
MAX_TURN_CHARS = 4_000_000
MAX_CALLS = 128
MAX_NAME = 128

LENGTH = "the length limit was reached"
REFUSED = "the model refused"
FILTERED = "the provider's filter stopped it"
CONTEXT_FULL = "the context window is full"

_UNSAFE = re.compile(r"[^\w.:/-]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class FormError(ValueError):
    """An event of a stream does not have its documented form."""


class PartialCall(Struct):
    """A tool call whose pieces are still coming."""

    id: str
    name: str
    arguments: list[str] = field(default_factory=list)


class TurnBuilder:
    """One attempt at a turn.

    `ended` is the stop reason of the provider, empty if the stream broke. `cut` says why the turn
    is incomplete, if it is. `released`: some text was given to `on_text`.
    """

    def __init__(self, request: Request, on_text: Callable[[str], None]) -> None:
        self.calls: list[PartialCall] = []
        self.usage = Usage()
        self.ended = ""
        self.cut = ""
        self.released = False
        self._request = request
        self._on_text = on_text
        self._pieces: list[str] = []
        self._half = ""
        self._chars = 0

    def say(self, piece: str) -> None:
        """Add a piece of the text and give it to `on_text`."""
        self._count_chars(piece)
        piece = self._half + piece
        # A server may cut between two surrogates of one character.
        self._half = piece[-1:] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        self._release(join_surrogates(piece.removesuffix(self._half)))

    def begin_call(self, call_id: str, name: str) -> PartialCall:
        """Begin a tool call; its pieces are added with `extend`."""
        if len(self.calls) == MAX_CALLS:
            raise ModelError(f"the model made more than {MAX_CALLS} tool calls at once")
        self._count_chars(call_id + name)
        self.calls.append(PartialCall(call_id, name))
        return self.calls[-1]

    def extend(self, call: PartialCall, arguments: str) -> None:
        """Add a piece of the arguments of a call."""
        self._count_chars(arguments)
        call.arguments.append(arguments)

    def _count_chars(self, piece: str) -> None:
        self._chars += len(piece)
        if self._chars > MAX_TURN_CHARS:
            raise ModelError(f"the model's turn is longer than {MAX_TURN_CHARS:,} characters")

    def reply(self, tools: Mapping[str, str]) -> Reply:
        """Return the complete turn. `tools` maps sent names of tools to their own names."""
        if self._half:
            self._half = ""
            self._release("\N{REPLACEMENT CHARACTER}")
        text = "".join(self._pieces)
        return Reply(text=text, calls=self._finished_calls(tools), usage=self.usage, cut=self.cut)

    def _release(self, piece: str) -> None:
        if piece:
            self._pieces.append(piece)
            self.released = True
            self._on_text(piece)

    def _finished_calls(self, tools: Mapping[str, str]) -> tuple[ModelCall, ...]:
        taken = {call.id for message in self._request.messages for call in message.calls}
        number = 1 + sum(message.role is Role.ASSISTANT for message in self._request.messages)
        done: list[ModelCall] = []
        for place, call in enumerate(self.calls, 1):
            call_id = _free_id(plain_name(call.id) or f"call-{number}-{place}", taken)
            taken.add(call_id)
            tool = tools.get(call.name) or plain_name(call.name) or "unnamed"
            # For a tool without arguments, some servers send an empty text.
            arguments = join_surrogates("".join(call.arguments))
            done.append(ModelCall(call_id, tool, arguments if arguments.strip() else "{}"))
        return tuple(done)


def unknown_stop_reason(reason: str) -> str:
    """Return the text for an unknown stop reason: the turn may be incomplete."""
    return f"unknown stop reason `{visible(brief(reason))}`"


def plain_name(written: str) -> str:
    """Return a name or an id with plain characters only, and of limited length."""
    return _UNSAFE.sub("_", written[:MAX_NAME])


def join_surrogates(text: str) -> str:
    """Return a text with surrogate pairs joined. A lone surrogate is replaced."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def text_in(event: object, field_name: str) -> str:
    """Return a field that is a string or missing. Raises FormError otherwise."""
    value = getattr(event, field_name, None)
    if value is None or isinstance(value, str):
        return value or ""
    raise FormError(f"`{field_name}` is not a string")


def items_in(event: object, field_name: str) -> list[object]:
    """Return a field that is a list or missing. Raises FormError otherwise."""
    value = getattr(event, field_name, None)
    if value is None or isinstance(value, list):
        return value or []
    raise FormError(f"`{field_name}` is not a list")


def number_in(event: object, field_name: str) -> int | None:
    """Return a field that is a count, None if it is missing or not a count."""
    value = getattr(event, field_name, None)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT:
        return value
    return None


def _free_id(wanted: str, taken: set[str]) -> str:
    if wanted not in taken:
        return wanted
    numbered = (f"{wanted[: MAX_NAME - 8]}-{n}" for n in count(2))
    return next(name for name in numbered if name not in taken)
