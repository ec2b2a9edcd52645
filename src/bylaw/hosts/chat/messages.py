"""Requests to a model and its replies, as plain data for every provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from bylaw.model.values import JSON
    from bylaw.model.vocabulary import Role


class Call(Struct, frozen=True):
    """A tool call as the model wrote it. `arguments` is its JSON text, which may be invalid."""

    id: str
    tool: str
    arguments: str


class Image(Struct, frozen=True):
    """An image in a message: a web address or a `data:` URI."""

    url: str


class Sent(Struct, frozen=True, kw_only=True):
    """One message of a request.

    `calls` are the calls in a message of the assistant. A message of role `tool` is the response to
    the call with the id `answers`; `failed`: the response is an error.
    """

    role: Role
    text: str
    calls: tuple[Call, ...] = ()
    answers: str = ""
    failed: bool = False
    images: tuple[Image, ...] = ()


class ToolSpec(Struct, frozen=True):
    """A tool as described to the model. `parameters` is the JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, JSON]


class Options(Struct, frozen=True, kw_only=True):
    """Options for the model, from `<config>`. None: the provider's default."""

    max_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str = ""


class Request(Struct, frozen=True, kw_only=True):
    """Everything that is sent to a model for one turn."""

    messages: tuple[Sent, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: Options = field(default_factory=Options)


class Usage(Struct, frozen=True):
    """Tokens as counted by the provider. None: it did not report them."""

    sent: int | None = None
    received: int | None = None

    def plus(self, other: Usage) -> Usage:
        """Return the sum of both, as far as they are known."""
        return Usage(_sum(self.sent, other.sent), _sum(self.received, other.received))


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)


class Reply(Struct, frozen=True, kw_only=True):
    """One turn of the assistant. If it is incomplete, `cut` says why (such as a length limit)."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cut: str = ""
