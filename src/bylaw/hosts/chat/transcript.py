"""The conversation of an open file: what is written to it, and the blocks that it holds.

A block is read back from the very text that was written, so that what a model is sent is what is
in the file.
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
    """A block that is about to be written."""

    name: str
    text: str
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def as_text(self) -> str:
        """As it stands in the file; a name that no attribute can hold loses its backslashes."""
        try:
            return block_text(self.name, self.attributes, self.text)
        except ValueError:
            plain = {name: value.replace("\\", "_") for name, value in self.attributes.items()}
            return block_text(self.name, plain, self.text)


def message(role: Role, text: str, rule: str = "") -> Written:
    """Something that is said; by a rule, if that is named."""
    assert role is not Role.TOOL, "that is the response to a call"
    return Written(role.value, text, _made_by(rule))


def halt(text: str, rule: str) -> Written:
    """What a rule ends a turn with, in place of the assistant's answer."""
    return Written(Role.ASSISTANT.value, text, {"halt": "true"} | _made_by(rule))


def call(call_id: str, tool: str, arguments: str, rule: str = "") -> Written:
    """A call of a tool."""
    named = {"function_name": tool, "tool_call_id": call_id}
    return Written("tool_call", arguments, named | _made_by(rule))


def response(call_id: str, text: str, *, failed: bool = False, rule: str = "") -> Written:
    """The answer to a call."""
    status = {"status": ERROR} if failed else {}
    return Written("tool_response", text, status | {"tool_call_id": call_id} | _made_by(rule))


def _made_by(rule: str) -> dict[str, str]:
    return {"synthetic": "true", "via_rule": rule} if rule else {}


class Transcript:
    """Blocks in memory, as they stand in the file; `read` gives those of a whole text."""

    def __init__(
        self, file: ChatFile, read: Callable[[SourceFile], list[Block]], listener: Listener
    ) -> None:
        self.file = file
        self.listener = listener
        self._read = read
        self.renew()

    def renew(self) -> None:
        """The file is another text."""
        text = self.file.source.text
        self.blocks = self._read(self.file.source)
        self._ends_line = not text or text.endswith("\n")

    def add(self, *written: Written) -> list[Block]:
        """Write blocks, all or none of them, and give them as they can be read back."""
        text = "".join(one.as_text for one in written)
        self.file.append(text if self._ends_line else "\n" + text)
        self._ends_line = True
        added = own_blocks(SourceFile(self.file.name, text))
        self.blocks += added
        for block in added:
            self.listener.block(block)
        return added
