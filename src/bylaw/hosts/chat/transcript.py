"""The conversation of an open file: its blocks, the blocks that are written to it, and call ids.

A written block is read back from its text, so that the model gets exactly what is in the file. A
listener, such as a terminal, follows what happens. All agents of a chat share one session, so their
calls share one set of ids.
"""

from __future__ import annotations

from itertools import count
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

from bylaw.hosts.chat.blocks import ERROR, own_blocks
from bylaw.languages.chatmd.messages import block as block_text
from bylaw.languages.chatmd.scanner import ARCHIVE, Element
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.chat_file import ChatFile
    from bylaw.model.vocabulary import Level


class NewBlock(Struct, frozen=True):
    """A block to write."""

    name: str
    text: str
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def as_text(self) -> str:
        """The text of the block in the file. If an attribute is not writable, `\\` becomes `_`."""
        try:
            return block_text(self.name, self.attributes, self.text)
        except ValueError:
            plain = {name: value.replace("\\", "_") for name, value in self.attributes.items()}
            return block_text(self.name, plain, self.text)


def message(role: Role, text: str, rule: str = "") -> NewBlock:
    """Return a message, by a rule if one is named."""
    assert role is not Role.TOOL, "a message of a tool is a response"
    return NewBlock(role.value, text, _rule_attributes(rule))


def halt(text: str, rule: str) -> NewBlock:
    """Return the text with which a rule ends a turn, in place of the assistant's answer."""
    return NewBlock(Role.ASSISTANT.value, text, {"halt": "true"} | _rule_attributes(rule))


def call(call_id: str, tool: str, arguments: str, rule: str = "") -> NewBlock:
    """Return a tool call."""
    named = {"function_name": tool, "tool_call_id": call_id}
    return NewBlock("tool_call", arguments, named | _rule_attributes(rule))


def response(call_id: str, text: str, *, failed: bool = False, rule: str = "") -> NewBlock:
    """Return the response to a call."""
    status = {"status": ERROR} if failed else {}
    return NewBlock(
        "tool_response", text, status | {"tool_call_id": call_id} | _rule_attributes(rule)
    )


def _rule_attributes(rule: str) -> dict[str, str]:
    return {"synthetic": "true", "via_rule": rule} if rule else {}


class Transcript:
    """The blocks of a file, in memory. `read` returns the blocks of a complete text."""

    def __init__(
        self, file: ChatFile, read: Callable[[SourceFile], list[Block]], listener: Listener
    ) -> None:
        self.file = file
        self.listener = listener
        self._read = read
        self.renew()

    def renew(self) -> None:
        """Read all blocks again, after the file was rewritten."""
        text = self.file.source.text
        self.blocks = self._read(self.file.source)
        self._ends_line = not text or text.endswith("\n")

    def add(self, *written: NewBlock) -> list[Block]:
        """Write all of the blocks or none, and return them as they are read back."""
        text = "".join(one.as_text for one in written)
        self.file.append(text if self._ends_line else "\n" + text)
        self._ends_line = True
        added = own_blocks(SourceFile(self.file.name, text))
        self.blocks += added
        for block in added:
            self.listener.block(block)
        return added


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


class AgentListener:
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


# Prefix of the ids of rule calls. The id of a model must not equal that of a later rule call.
RULE_PREFIX = "rule-"


class CallIds:
    """The ids that are used in one run."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._taking = Lock()  # agents run in parallel

    def found(self, elements: Iterable[Element]) -> None:
        """Mark the ids in a file as used, including those in its archives."""
        with self._taking:
            self._taken.update(_ids_in(elements))

    def take(self, wanted: str) -> str:
        """Reserve the wanted id if it is free, else the id with a number added, and return it."""
        if wanted.startswith(RULE_PREFIX):
            wanted = f"call-{wanted}"
        with self._taking:
            free = next(name for name in _numbered_names(wanted) if name not in self._taken)
            self._taken.add(free)
        return free


def _ids_in(elements: Iterable[Element]) -> Iterator[str]:
    left = list(elements)
    while left:
        element = left.pop()
        if element.name == ARCHIVE:
            left += (child for child in element.children if isinstance(child, Element))
        elif call := element.value("tool_call_id"):
            yield call


def _numbered_names(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))
