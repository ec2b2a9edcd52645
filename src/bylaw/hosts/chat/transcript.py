"""The conversation of an open file: its blocks, and the blocks that are written to it.

A written block is read back from its text, so that the model gets exactly what is in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from bylaw.dialects.chatmd.syntax.write import block as block_text
from bylaw.hosts.chat.blocks import ERROR, own_blocks
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bylaw.hosts.chat.blocks import Block
    from bylaw.hosts.chat.chat_file import ChatFile
    from bylaw.hosts.chat.listener import Listener


class Written(Struct, frozen=True):
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


def message(role: Role, text: str, rule: str = "") -> Written:
    """Return a message, by a rule if one is named."""
    assert role is not Role.TOOL, "a message of a tool is a response"
    return Written(role.value, text, _made_by(rule))


def halt(text: str, rule: str) -> Written:
    """Return the text with which a rule ends a turn, in place of the assistant's answer."""
    return Written(Role.ASSISTANT.value, text, {"halt": "true"} | _made_by(rule))


def call(call_id: str, tool: str, arguments: str, rule: str = "") -> Written:
    """Return a tool call."""
    named = {"function_name": tool, "tool_call_id": call_id}
    return Written("tool_call", arguments, named | _made_by(rule))


def response(call_id: str, text: str, *, failed: bool = False, rule: str = "") -> Written:
    """Return the response to a call."""
    status = {"status": ERROR} if failed else {}
    return Written("tool_response", text, status | {"tool_call_id": call_id} | _made_by(rule))


def _made_by(rule: str) -> dict[str, str]:
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

    def add(self, *written: Written) -> list[Block]:
        """Write all of the blocks or none, and return them as they are read back."""
        text = "".join(one.as_text for one in written)
        self.file.append(text if self._ends_line else "\n" + text)
        self._ends_line = True
        added = own_blocks(SourceFile(self.file.name, text))
        self.blocks += added
        for block in added:
            self.listener.block(block)
        return added
