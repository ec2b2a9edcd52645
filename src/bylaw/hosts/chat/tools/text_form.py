"""The bytes of a file → its text with plain line breaks, and back in the same form."""

from __future__ import annotations

from codecs import getincrementaldecoder

from msgspec import Struct
from msgspec.structs import replace

from bylaw.hosts.chat.tools.base import ToolError

_BOM = b"\xef\xbb\xbf"


class Text(Struct, frozen=True):
    """The text of a file without a byte order mark; where all lines end in CRLF, in LF instead."""

    content: str = ""
    crlf: bool = False
    bom: bool = False

    @classmethod
    def decode(cls, data: bytes) -> Text:
        """The text of bytes; ValueError if they are not UTF-8."""
        bom = data.startswith(_BOM)
        content = decode_utf8(data.removeprefix(_BOM), len(_BOM) if bom else 0)
        breaks = content.count("\n")
        crlf = breaks > 0 and content.count("\r\n") == breaks
        return cls(content.replace("\r\n", "\n") if crlf else content, crlf, bom)

    def encode(self) -> bytes:
        """The bytes of the file; ToolError if they are none."""
        content = self.content.replace("\n", "\r\n") if self.crlf else self.content
        try:
            data = content.encode()
        except UnicodeEncodeError:
            raise ToolError("the text holds half of a character, which no file can") from None
        return _BOM + data if self.bom else data

    def holding(self, content: str) -> Text:
        """Another text in the form of this one."""
        return replace(self, content=content)

    def fitting(self, given: str) -> str:
        """What somebody wrote, with the line breaks of this text."""
        return given.replace("\r\n", "\n") if self.crlf else given


def decode_utf8(data: bytes, begins_at: int = 0, *, whole: bool = True) -> str:
    """The text of bytes; ValueError says which one is wrong, counted in the whole file.

    If they are not the whole, a character that is cut off at their end is left out.
    """
    try:
        return getincrementaldecoder("utf-8")().decode(data, final=whole)
    except UnicodeDecodeError as wrong:
        at = begins_at + wrong.start
        why = f"it is not UTF-8 text: byte 0x{data[wrong.start]:02x} at {at:,}"
        raise ValueError(why) from None
