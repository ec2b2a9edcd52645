"""Elements of a ChatMD file → the blocks of the conversation, as plain data.

Elements that are not part of the conversation give no block: settings, rules, archives, reasoning
and empty messages.
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

    # Returns what replaces an element inside a message: a text, which may be empty, or an image.
    Inline: TypeAlias = Callable[[Element], str | Image]


class BlockKind(StrEnum):
    """Kind of a block."""

    MESSAGE = "message"
    CALL = "call"
    RESPONSE = "response"


class Block(Struct, frozen=True, kw_only=True):
    """One block of the conversation.

    `text` is the text of a message, the arguments of a call, or a response. `call` is the id of
    the call; its response has the same id. `synthetic`: a rule or an agent made the block, and
    `via_rule` names it. `halts`: the block ended its turn. `element` and `source` say where the
    block is.
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
        """Whether the model wrote the block."""
        return self.role is Role.ASSISTANT and not self.synthetic

    @property
    def by_person(self) -> bool:
        """Whether a person wrote the block."""
        return self.role is Role.USER and not self.synthetic


# Elements that are named after the role of the author. Tool responses have their own element.
_SPEAKERS = {word: role for word, role in ROLES.items() if role is not Role.TOOL}
ERROR = "error"


def no_inline(element: Element) -> str:
    """Show an element inside a message as `[NAME SRC]`, without reading the file."""
    return f"[{element.name} {element.value('src')}]"


def read_blocks(
    placed: Iterable[tuple[Element, SourceFile]], inline: Inline = no_inline
) -> list[Block]:
    """Return the blocks of elements. Each element comes with the source that contains it."""
    read = (_read(element, source, inline) for element, source in placed)
    return [block for block in read if block is not None]


def own_blocks(source: SourceFile) -> list[Block]:
    """Return the blocks of a text, without reading the files that it refers to."""
    document, _ = parse(source)
    return read_blocks((element, source) for element in document.elements)


def _read(element: Element, source: SourceFile, inline: Inline) -> Block | None:
    role = _role_of(element)
    kind = _kind_of(element, role)
    if role is None or kind is None:
        return None
    text, images = _content(element, source, inline)
    if kind is BlockKind.MESSAGE and not text and not images:
        return None  # for example the empty message that a person will fill in
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
    # Old transcripts write calls as `<msg>` elements of the assistant.
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
