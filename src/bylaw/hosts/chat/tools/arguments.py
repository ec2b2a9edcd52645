"""A class of arguments → the JSON schema of a tool for the model, and a strict reader of calls."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

import msgspec

from bylaw.hosts.chat.messages import ToolSpec
from bylaw.hosts.chat.tools.base import ToolError
from bylaw.model.refusal import explain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.model.values import JSON


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
        raise ToolError(explain(cls, str(wrong), "the call", "argument")) from None
