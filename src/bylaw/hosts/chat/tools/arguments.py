"""A class of arguments → what a model is told of a tool, and a strict reader of its calls."""

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
    """The arguments of a tool: a field each, described; one without a default is needed."""


FilePath = Annotated[str, msgspec.Meta(description="The file, from the folder of the chat.")]

A = TypeVar("A", bound=Arguments)


class CheckedTool(Generic[A]):
    """A tool whose arguments are exactly those of a class.

    `also` is as in `Tool`; `synonyms` are names that some models give to an argument.
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
        """The result; ToolError if it failed."""


def parameters_of(cls: type[Arguments]) -> dict[str, JSON]:
    """The JSON schema of a class of arguments."""
    _, schemas = msgspec.json.schema_components([cls])
    # As it is after its way over the wire: a default may be a tuple.
    schema: dict[str, JSON] = msgspec.json.decode(msgspec.json.encode(schemas[cls.__name__]))
    return {key: schema[key] for key in schema if key not in {"title", "description"}}


def read_arguments(cls: type[A], args: Mapping[str, JSON]) -> A:
    """The arguments of a call; ToolError names the one that is wrong, and what is wanted."""
    try:
        return msgspec.convert(args, cls)
    except msgspec.ValidationError as wrong:
        raise ToolError(explain(cls, str(wrong), "the call", "argument")) from None
