"""What is sent to a model and what comes back: plain data that every provider can be given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from bylaw.model.values import JSON
    from bylaw.model.vocabulary import Role


class Call(Struct, frozen=True):
    """A tool call as the model wrote it; `arguments` is its JSON text, which may be wrong."""

    id: str
    tool: str
    arguments: str


class Image(Struct, frozen=True):
    """A picture in a message: an address, or a `data:` URI."""

    url: str


class Sent(Struct, frozen=True, kw_only=True):
    """One message of a request.

    `calls` are those of an assistant's message; `answers` is the id of the call to which a
    message of role `tool` is the response, `failed` whether that is an error.
    """

    role: Role
    text: str
    calls: tuple[Call, ...] = ()
    answers: str = ""
    failed: bool = False
    images: tuple[Image, ...] = ()


class ToolSpec(Struct, frozen=True):
    """A tool as the model is told of it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, JSON]


class Options(Struct, frozen=True, kw_only=True):
    """What `<config>` says of the model; None is the provider's default."""

    max_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str = ""


class Request(Struct, frozen=True, kw_only=True):
    """Everything that a model is asked with."""

    messages: tuple[Sent, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: Options = field(default_factory=Options)


class Usage(Struct, frozen=True):
    """Tokens as the provider counted them; None: it did not say."""

    sent: int | None = None
    received: int | None = None

    def plus(self, other: Usage) -> Usage:
        """Both together, as far as they are known."""
        return Usage(_sum(self.sent, other.sent), _sum(self.received, other.received))


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)


class Reply(Struct, frozen=True, kw_only=True):
    """One turn of the assistant; `cut` says why it is not complete, if so (a length limit)."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cut: str = ""
