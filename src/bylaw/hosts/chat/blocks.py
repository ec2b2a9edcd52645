"""Elements of a ChatMD file → the blocks that make a conversation, as plain data.

What is no part of it (settings, rules, archives, reasoning, empty messages) gives no block.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.chatmd.syntax.content import pieces
from bylaw.dialects.chatmd.syntax.nodes import Element
from bylaw.dialects.chatmd.syntax.parse import parse
from bylaw.hosts.chat.messages import Image
from bylaw.model.vocabulary import ROLES, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from bylaw.model.source import SourceFile

    # What an element inside a message stands for: a text, a picture, or nothing.
    Inline: TypeAlias = Callable[[Element], str | Image]


class BlockKind(StrEnum):
    """What a block is."""

    MESSAGE = "message"
    CALL = "call"
    RESPONSE = "response"


class Block(Struct, frozen=True, kw_only=True):
    """One block of the conversation.

    `text` is what was said, the arguments of a call, or a response. `call` is the id of a call
    and of its response. `via_rule` names the rule that made the block, `synthetic` whether any
    did; one that `halts` ended its turn. `element` and `source` are where it stands.
    """

    kind: BlockKind
    role: Role
    text: str
    element: Element
    source: SourceFile
    images: tuple[Image, ...] = ()
    call: str = ""
    tool: str = ""
    failed: bool = False
    synthetic: bool = False
    via_rule: str = ""
    halts: bool = False

    @property
    def by_model(self) -> bool:
        """Whether the model itself wrote it."""
        return self.role is Role.ASSISTANT and not self.synthetic

    @property
    def by_person(self) -> bool:
        """Whether a person said it."""
        return self.role is Role.USER and not self.synthetic


# Elements that are called by the role of who speaks; what tools say has an element of its own.
_SPEAKERS = {word: role for word, role in ROLES.items() if role is not Role.TOOL}
ERROR = "error"


def no_inline(element: Element) -> str:
    """For whoever wants the text alone."""
    return f"[{element.name} {element.value('src')}]"


def read_blocks(
    placed: Iterable[tuple[Element, SourceFile]], inline: Inline = no_inline
) -> list[Block]:
    """The blocks of elements, each with the text in which it stands."""
    read = (_read(element, source, inline) for element, source in placed)
    return [block for block in read if block is not None]


def own_blocks(source: SourceFile) -> list[Block]:
    """The blocks that stand in a text itself, without what they refer to."""
    document, _ = parse(source)
    return read_blocks((element, source) for element in document.elements)


def _read(element: Element, source: SourceFile, inline: Inline) -> Block | None:
    role = _role_of(element)
    kind = _kind_of(element, role)
    if role is None or kind is None:
        return None
    text, images = _content(element, source, inline)
    if kind is BlockKind.MESSAGE and not text and not images:
        return None  # such as the empty message in which a person is to write
    return Block(
        kind=kind,
        role=role,
        text=text,
        element=element,
        source=source,
        images=images,
        call=element.value("tool_call_id"),
        tool=element.value("function_name"),
        failed=kind is BlockKind.RESPONSE and element.value("status") == ERROR,
        synthetic=element.value("synthetic") == "true",
        via_rule=element.value("via_rule"),
        halts=element.value("halt") == "true",
    )


def _role_of(element: Element) -> Role | None:
    match element.name:
        case "tool_call":
            return Role.ASSISTANT
        case "tool_response":
            return Role.TOOL
        case "msg":
            return ROLES.get(element.value("role").lower())
    return _SPEAKERS.get(element.name)


def _kind_of(element: Element, role: Role | None) -> BlockKind | None:
    if element.name == "tool_call":
        return BlockKind.CALL
    if role is Role.TOOL:
        return BlockKind.RESPONSE
    # Old transcripts hold calls as messages of the assistant.
    flags = {one.name for one in element.attributes}
    is_call = element.name == "msg" and flags & {"tool_call", "function_call"}
    return BlockKind.CALL if is_call else BlockKind.MESSAGE


def _content(element: Element, source: SourceFile, inline: Inline) -> tuple[str, tuple[Image, ...]]:
    texts: list[str] = []
    images: list[Image] = []
    for piece in pieces(element, source):
        shown = inline(piece) if isinstance(piece, Element) else piece
        if isinstance(shown, Image):
            images.append(shown)
        else:
            texts.append(shown)
    return "\n".join(filter(None, texts)) if len(texts) > 1 else "".join(texts), tuple(images)
