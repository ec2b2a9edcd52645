"""Read the documents and images that a message refers to.

Each is read once and not again while the chat is open. Nothing is fetched from the network, and
nothing is read outside the root: a chat file of a stranger must not send our secrets to a model.
"""

from __future__ import annotations

from base64 import b64encode
from mimetypes import guess_type
from typing import TYPE_CHECKING

from bylaw.hosts.chat.messages import Image
from bylaw.model.source import EncodingError, SourceFile
from bylaw.runtime.paths import folder_of, lies_in, real_path
from bylaw.runtime.reading import in_plain_words, regular_bytes
from bylaw.runtime.root import absolute

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.dialects.chatmd.syntax.nodes import Element

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
            self._read[key] = self._shown(*key)
        return self._read[key]

    def _shown(self, name: str, src: str) -> str | Image:
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
            return self._missing(name, src, "is not fetched from the network")
        try:
            return SourceFile.decode(src, self._bytes(src, MAX_DOCUMENT_BYTES)).text
        except EncodingError:
            return self._missing(name, src, "is not UTF-8 text")
        except (OSError, ValueError) as wrong:
            return self._missing(name, src, in_plain_words(wrong))

    def _picture(self, src: str) -> str | Image:
        kind, _ = guess_type(src)
        try:
            data = self._bytes(src, MAX_PICTURE_BYTES)
        except (OSError, ValueError) as wrong:
            return self._missing("img", src, in_plain_words(wrong))
        return Image(f"data:{kind or 'image/png'};base64,{b64encode(data).decode()}")

    def _bytes(self, src: str, at_most: int) -> bytes:
        real = real_path(absolute(src or ".", self._folder))
        if not lies_in(real, self._root):
            raise ValueError("it is outside the root")
        data = regular_bytes(real, at_most, links=False)
        if len(data) > at_most:
            raise ValueError(f"it is larger than {at_most:,} bytes")
        return data

    def _missing(self, name: str, src: str, why: str) -> str:
        text = f"[{name} {src}: {why}]"
        self._tell(f"`<{name} src>` `{src}` cannot be sent: {why}")
        return text
