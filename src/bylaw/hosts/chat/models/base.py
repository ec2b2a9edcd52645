"""The interface of a model, as a chat uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from bylaw.model.errors import BylawError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.chat.messages import Reply, Request


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
