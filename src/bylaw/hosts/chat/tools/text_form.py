"""The bytes of a file → its text with LF line breaks, and back to bytes in the same form."""

from __future__ import annotations

from codecs import getincrementaldecoder

from msgspec import Struct
from msgspec.structs import replace

from bylaw.hosts.chat.tools.base import ToolError

_BOM = b"\xef\xbb\xbf"


class Text(Struct, frozen=True):
    """The text of a file without its byte order mark. CRLF becomes LF if all lines end in it."""

    content: str = ""
    crlf: bool = False
    bom: bool = False

    @classmethod
    def decode(cls, data: bytes) -> Text:
        """Decode the bytes of a file. Raises ValueError if they are not UTF-8."""
        bom = data.startswith(_BOM)
        content = decode_utf8(data.removeprefix(_BOM), len(_BOM) if bom else 0)
        breaks = content.count("\n")
        crlf = breaks > 0 and content.count("\r\n") == breaks
        return cls(content.replace("\r\n", "\n") if crlf else content, crlf, bom)

    def encode(self) -> bytes:
        """Return the bytes of the file. Raises ToolError if the text cannot be encoded."""
        content = self.content.replace("\n", "\r\n") if self.crlf else self.content
        try:
            data = content.encode()
        except UnicodeEncodeError:
            raise ToolError("the text contains a lone surrogate, which cannot be written") from None
        return _BOM + data if self.bom else data

    def holding(self, content: str) -> Text:
        """Return another text in the form of this one."""
        return replace(self, content=content)

    def fitting(self, given: str) -> str:
        """Return a given text with the line breaks of this text."""
        return given.replace("\r\n", "\n") if self.crlf else given


def decode_utf8(data: bytes, begins_at: int = 0, *, whole: bool = True) -> str:
    """Decode bytes. ValueError names the invalid byte, counted from the start of the file.

    Unless `whole`, a character that is cut off at the end is left out.
    """
    try:
        return getincrementaldecoder("utf-8")().decode(data, final=whole)
    except UnicodeDecodeError as wrong:
        at = begins_at + wrong.start
        why = f"it is not UTF-8 text: byte 0x{data[wrong.start]:02x} at {at:,}"
        raise ValueError(why) from None
