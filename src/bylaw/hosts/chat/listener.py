"""Who follows a chat while it happens: a terminal, a program, or nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bylaw.hosts.chat.blocks import Block
    from bylaw.model.vocabulary import Level


class Listener(Protocol):
    """Is told; what it is told is untrusted text."""

    def text(self, piece: str) -> None:
        """A piece of what the model is saying."""

    def block(self, block: Block) -> None:
        """A block was written to the file."""

    def hold(self) -> None:
        """Show nothing of what follows before it is released."""

    def release(self) -> None:
        """Show what was held."""

    def drop(self) -> None:
        """Forget what was held: a rule keeps it back."""

    def note(self, text: str) -> None:
        """Something that a person should know."""

    def log(self, level: Level, rule: str, text: str) -> None:
        """A rule wants a line in the log."""


class Aside:
    """Hears of an agent only what a person should know; what is said stands in its own file."""

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
        """Told, and of whom."""
        self._listener.note(f"{self._agent}: {text}")

    def log(self, level: Level, rule: str, text: str) -> None:
        """As in every chat."""
        self._listener.log(level, rule, text)
