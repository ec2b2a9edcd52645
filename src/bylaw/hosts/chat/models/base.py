"""What a chat asks of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.chat.messages import Reply, Request


class ModelError(BylawError):
    """The model could not be asked, or its answer is no use; the text is for a person."""


class ScriptEndedError(BylawError):
    """A scripted model has said all that it has to say."""


class Model(Protocol):
    """One model of one provider."""

    name: str
    """As in `openai:gpt-5`."""
    summarises: bool
    """Whether it can be asked for something beside the chat."""
    hands_back: bool
    """Whether it waits for a person after a turn without calls; a script goes on by itself."""
    ended: bool
    """Whether it has nothing more to say: the end of a script."""

    def reply(self, request: Request, on_text: Callable[[str], None]) -> Reply:
        """Ask; `on_text` is given pieces of the text as they come. ModelError if it fails."""

    def close(self) -> None:
        """Let go of connections."""
