"""What a program implements to follow a chat while it runs, such as a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bylaw.hosts.chat.blocks import Block
    from bylaw.model.vocabulary import Level


class Listener(Protocol):
    """Follows a chat. All texts that it gets are untrusted."""

    def text(self, piece: str) -> None:
        """Show a piece of the model's text."""

    def block(self, block: Block) -> None:
        """A block was written to the file."""

    def hold(self) -> None:
        """Hold everything that follows, until `release` or `drop`."""

    def release(self) -> None:
        """Show what was held."""

    def drop(self) -> None:
        """Discard what was held: a rule withholds it."""

    def note(self, text: str) -> None:
        """Show a note for the person."""

    def log(self, level: Level, rule: str, text: str) -> None:
        """Show a log line of a rule."""


class Aside:
    """The listener of an agent: passes on notes and log lines only.

    The conversation of the agent is in its own file.
    """

    def __init__(self, listener: Listener, agent: str) -> None:
        self._listener = listener
        self._agent = agent

    def text(self, piece: str) -> None:
        """Not shown."""

    def block(self, block: Block) -> None:
        """Not shown."""

    def hold(self) -> None:
        """Nothing is shown."""

    def release(self) -> None:
        """Nothing is held."""

    def drop(self) -> None:
        """Nothing is held."""

    def note(self, text: str) -> None:
        """Pass on the note, with the name of the agent."""
        self._listener.note(f"{self._agent}: {text}")

    def log(self, level: Level, rule: str, text: str) -> None:
        """Pass on the log line."""
        self._listener.log(level, rule, text)
