"""The interface of a tool, the JSON schema and check of its arguments, and the text of its result.

The arguments of a tool are a class. Its fields give the schema for the model and a strict reader of
calls.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Generic, Protocol, TypeVar

import msgspec

from bylaw.hosts.chat.blocks import ToolSpec
from bylaw.languages.chatmd.messages import to_writable
from bylaw.model.errors import BylawError
from bylaw.model.values import as_text
from bylaw.model.wire import explain_invalid_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.model.values import JSON

# Characters of a result. The middle of a longer one is left out, and the result says so.
MAX_RESULT_CHARS = 200_000


class ToolError(BylawError):
    """The tool failed. The text is for the model."""


class ToolTimeoutError(ToolError):
    """The tool took too long and was stopped."""


class Tool(Protocol):
    """One tool."""

    spec: ToolSpec
    """The description for the model."""
    also: tuple[str, ...]
    """Other names that rules may use: the name in its declaration, and normalised ones such as
    `file.read`, `file.write`, `shell`."""
    synonyms: tuple[tuple[str, str], ...]
    """Other names of arguments, each with the real one. Rules see both."""

    def run(self, args: Mapping[str, JSON]) -> JSON:
        """Return the result. ToolError if it fails. Several threads may call this at once."""


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a tool: one described field each. Fields without a default are required."""


FilePath = Annotated[str, msgspec.Meta(description="Path of the file, from the project root.")]

A = TypeVar("A", bound=Arguments)


class CheckedTool(Generic[A]):
    """A tool whose arguments are exactly the fields of a class.

    `also` is as in `Tool`. `synonyms` are names that some models use for an argument.
    """

    also: tuple[str, ...] = ()
    synonyms: tuple[tuple[str, str], ...] = ()

    def __init__(self, name: str, description: str, arguments: type[A]) -> None:
        self.spec = ToolSpec(name, description, parameters_of(arguments))
        self._arguments = arguments

    def run(self, args: Mapping[str, JSON]) -> JSON:
        """Check the arguments, then act."""
        named = dict(args)
        for synonym, name in self.synonyms:
            if synonym in named and name not in named:
                named[name] = named.pop(synonym)
        return self.act(read_arguments(self._arguments, named))

    @abstractmethod
    def act(self, args: A) -> JSON:
        """Return the result. Raises ToolError if the tool fails."""


def parameters_of(cls: type[Arguments]) -> dict[str, JSON]:
    """Return the JSON schema of a class of arguments."""
    _, schemas = msgspec.json.schema_components([cls])
    # As decoded JSON, because a default may be a tuple.
    schema: dict[str, JSON] = msgspec.json.decode(msgspec.json.encode(schemas[cls.__name__]))
    return {key: schema[key] for key in schema if key not in {"title", "description"}}


def read_arguments(cls: type[A], args: Mapping[str, JSON]) -> A:
    """Return the arguments of a call. ToolError names the invalid one and what is expected."""
    try:
        return msgspec.convert(args, cls)
    except msgspec.ValidationError as wrong:
        raise ToolError(explain_invalid_value(cls, str(wrong), "the call", "argument")) from None


_ROOM_FOR_NOTE = 100


def result_text(value: JSON) -> str:
    """Return text in a form that can be written to a file, and other values as JSON.

    The middle of a long text is left out.
    """
    text = to_writable(as_text(value))
    if len(text) <= MAX_RESULT_CHARS:
        return text
    half = (MAX_RESULT_CHARS - _ROOM_FOR_NOTE) // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n… {left_out:,} characters left out …\n{text[-half:]}"
