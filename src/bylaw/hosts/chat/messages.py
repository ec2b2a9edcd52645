"""What is sent to a model and what comes back: plain data that every provider can be given."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bylaw.model.values import JSON
    from bylaw.model.vocabulary import Role


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the model wrote it; `arguments` is its JSON text, which may be wrong."""

    id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a message: an address, or a `data:` URI."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
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


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, JSON]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What `<config>` says of the model; None is the provider's default."""

    max_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Everything that a model is asked with."""

    messages: tuple[Sent, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: Options = field(default_factory=Options)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; None: it did not say."""

    sent: int | None = None
    received: int | None = None

    def plus(self, other: Usage) -> Usage:
        """Both together, as far as they are known."""
        return Usage(_sum(self.sent, other.sent), _sum(self.received, other.received))


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One turn of the assistant; `cut` says why it is not complete, if so (a length limit)."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cut: str = ""
