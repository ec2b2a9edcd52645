"""Elements of a ChatMD file → the blocks of the conversation, as plain data.

Elements that are not part of the conversation give no block: settings, rules, archives, reasoning
and empty messages. Documents and images inside a message are read once and not again while the chat
is open. Nothing is fetched from the network, and nothing is read outside the root: a chat file of a
stranger must not send our secrets to a model. Requests and replies of models are here, too.
"""

from __future__ import annotations

from base64 import b64encode
from enum import StrEnum
from mimetypes import guess_type
from typing import TYPE_CHECKING

from msgspec import Struct, field

from bylaw.languages.chatmd.messages import pieces
from bylaw.languages.chatmd.parser import parse
from bylaw.languages.chatmd.scanner import Element
from bylaw.model.source import EncodingError, SourceFile
from bylaw.model.vocabulary import ROLES, Role
from bylaw.store.files import absolute, os_error_text, read_regular_bytes
from bylaw.store.paths import folder_of, is_inside, real_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from bylaw.model.values import JSON

    # Returns what replaces an element inside a message: a text, which may be empty, or an image.
    Inline: TypeAlias = "Callable[[Element], str | Image]"


class ModelCall(Struct, frozen=True):
    """A tool call as the model wrote it. `arguments` is its JSON text, which may be invalid."""

    id: str
    tool: str
    arguments: str


class Image(Struct, frozen=True):
    """An image in a message: a web address or a `data:` URI."""

    url: str


class RequestMessage(Struct, frozen=True, kw_only=True):
    """One message of a request.

    `calls` are the calls in a message of the assistant. A message of role `tool` is the response to
    the call with the id `answers`; `failed`: the response is an error.
    """

    role: Role
    text: str
    calls: tuple[ModelCall, ...] = ()
    answers: str = ""
    failed: bool = False
    images: tuple[Image, ...] = ()


class ToolSpec(Struct, frozen=True):
    """A tool as described to the model. `parameters` is the JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, JSON]


class ModelOptions(Struct, frozen=True, kw_only=True):
    """Options for the model, from `<config>`. None: the provider's default."""

    max_tokens: int | None = None
    temperature: float | None = None
    reasoning_effort: str = ""


class Request(Struct, frozen=True, kw_only=True):
    """Everything that is sent to a model for one turn."""

    messages: tuple[RequestMessage, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: ModelOptions = field(default_factory=ModelOptions)


class Usage(Struct, frozen=True):
    """Tokens as counted by the provider. None: it did not report them."""

    sent: int | None = None
    received: int | None = None

    def plus(self, other: Usage) -> Usage:
        """Return the sum of both, as far as they are known."""
        return Usage(_sum(self.sent, other.sent), _sum(self.received, other.received))


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None and other is None else (one or 0) + (other or 0)


class Reply(Struct, frozen=True, kw_only=True):
    """One turn of the assistant. If it is incomplete, `cut` says why (such as a length limit)."""

    text: str = ""
    calls: tuple[ModelCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cut: str = ""


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


def show_reference(element: Element) -> str:
    """Show an element inside a message as `[NAME SRC]`, without reading the file."""
    return f"[{element.name} {element.value('src')}]"


def read_blocks(
    placed: Iterable[tuple[Element, SourceFile]], inline: Inline = show_reference
) -> list[Block]:
    """Return the blocks of elements. Each element comes with the source that contains it."""
    read = (_read_block(element, source, inline) for element, source in placed)
    return [block for block in read if block is not None]


def own_blocks(source: SourceFile) -> list[Block]:
    """Return the blocks of a text, without reading the files that it refers to."""
    document, _ = parse(source)
    return read_blocks((element, source) for element in document.elements)


def _read_block(element: Element, source: SourceFile, inline: Inline) -> Block | None:
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


MAX_DOCUMENT_BYTES = 4 << 20
MAX_PICTURE_BYTES = 16 << 20
_REMOTE = ("http://", "https://")


class InlineReader:
    """Reads what elements inside messages refer to. `tell` gets a text for each that fails."""

    def __init__(self, location: str, root: str, tell: Callable[[str], None]) -> None:
        self._folder = folder_of(location)
        self._root = real_path(root)
        self._tell = tell
        self._read: dict[tuple[str, str], str | Image] = {}

    def __call__(self, element: Element) -> str | Image:
        """Return the text or the image that replaces an element."""
        key = (element.name, element.value("src"))
        if key not in self._read:
            self._read[key] = self._load(*key)
        return self._read[key]

    def _load(self, name: str, src: str) -> str | Image:
        match name:
            case "img" if src.startswith((*_REMOTE, "data:")):
                return Image(src)
            case "img":
                return self._picture(src)
            case "doc" | "import":
                return self._document(name, src)
        return ""  # the answer of an agent is a block of its own

    def _document(self, name: str, src: str) -> str:
        if src.startswith(_REMOTE):
            return self._report_missing(name, src, "is not fetched from the network")
        try:
            return SourceFile.decode(src, self._bytes(src, MAX_DOCUMENT_BYTES)).text
        except EncodingError:
            return self._report_missing(name, src, "is not UTF-8 text")
        except (OSError, ValueError) as wrong:
            return self._report_missing(name, src, os_error_text(wrong))

    def _picture(self, src: str) -> str | Image:
        kind, _ = guess_type(src)
        try:
            data = self._bytes(src, MAX_PICTURE_BYTES)
        except (OSError, ValueError) as wrong:
            return self._report_missing("img", src, os_error_text(wrong))
        return Image(f"data:{kind or 'image/png'};base64,{b64encode(data).decode()}")

    def _bytes(self, src: str, at_most: int) -> bytes:
        real = real_path(absolute(src or ".", self._folder))
        if not is_inside(real, self._root):
            raise ValueError("it is outside the root")
        data = read_regular_bytes(real, at_most, links=False)
        if len(data) > at_most:
            raise ValueError(f"it is larger than {at_most:,} bytes")
        return data

    def _report_missing(self, name: str, src: str, why: str) -> str:
        text = f"[{name} {src}: {why}]"
        self._tell(f"`<{name} src>` `{src}` cannot be sent: {why}")
        return text
