"""Read a start tag with its attributes, or report why it is not valid.

A quoted value may contain `<` and `>`. In ochat's elements, as in ochat, a backslash keeps a quoted
value open, and everything that is not an attribute is skipped. In our elements (`OURS`) a value
ends at its closing quote, and only attributes are allowed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bylaw.dialects.chatmd.syntax.entities import decoded
from bylaw.dialects.chatmd.syntax.nodes import Attribute
from bylaw.model.codes.chatmd import CHATMD_BROKEN_TAG, CHATMD_UNTERMINATED
from bylaw.model.source import Span
from bylaw.model.visible import brief

if TYPE_CHECKING:
    from bylaw.model.codes import Code

BLANKS = " \t\r\n\f\v"
# The name of a tag, and what must follow it.
NAME = "[A-Za-z_][A-Za-z0-9_-]*"
NAME_ENDS = rf"(?=[{BLANKS}>]|/>|\Z)"
MAX_ATTRIBUTES = 1_000

_ITEM = re.compile(
    r"([^A-Za-z0-9_:<>-]*)"
    rf"(?:([A-Za-z0-9_:-]+)(?:[{BLANKS}]*=[{BLANKS}]*(?:([\"'])|([^{BLANKS}<>]*)))?)?"
)


class Tag(NamedTuple):
    """A complete start tag. `closed` is true if it ends in `/>`."""

    name: str
    attributes: tuple[Attribute, ...]
    span: Span
    closed: bool


class BrokenTag(NamedTuple):
    """Text that starts like a tag but is not a valid one, with the error."""

    code: Code
    headline: str
    span: Span
    help: str


class Tags:
    """Reads the start tags of one text, by the rules of ochat's elements or of ours."""

    def __init__(self, text: str, *, ours: bool) -> None:
        self._text = text
        self._ours = ours
        # Offsets that a broken tag reached. More tags may start in its values. A tag that reaches
        # one of these offsets is broken, too, so the same text is not read many times.
        self._dead: set[int] = set()
        self._dead_until = -1
        # For each kind of quote, the offset from which on there are none.
        self._no_quote: dict[str, int] = {}

    def read(self, start: int, name: str) -> Tag | BrokenTag:
        """Read the tag at `start`, which has this name."""
        inside = start + 1 + len(name)
        if self._text.startswith(">", inside):
            return Tag(name, (), Span(start, inside + 1), closed=False)
        if start > self._dead_until:
            self._dead.clear()
        seen: list[int] = []
        found = self._read(Span(start, inside), seen)
        if isinstance(found, BrokenTag):
            self._dead.update(seen)
            self._dead_until = max(self._dead_until, *seen, start)
        return found

    def _read(self, begin: Span, seen: list[int]) -> Tag | BrokenTag:
        attributes: list[Attribute] = []
        at = begin.end
        while at not in self._dead and len(seen) < MAX_ATTRIBUTES:
            seen.append(at)
            item = _ITEM.match(self._text, at)
            assert item is not None, "the pattern also matches an empty text"
            if self._ours and item[1].strip(BLANKS) and not self._ends(item):
                return _skipped(item.start(), item[1])
            if item[2] is None:
                return self._end(begin, item.end(), attributes)
            attribute = self._attribute(item)
            if isinstance(attribute, BrokenTag):
                return attribute
            attributes.append(attribute)
            at = attribute.span.end
        many = len(seen) >= MAX_ATTRIBUTES
        why = f"it has {MAX_ATTRIBUTES:,} attributes" if many else "an earlier tag is incomplete"
        return _incomplete(begin, why)

    def _ends(self, item: re.Match[str]) -> bool:
        """Return whether the item is `/>`."""
        return item[1].lstrip(BLANKS) == "/" and self._text.startswith(">", item.end())

    def _end(self, begin: Span, at: int, attributes: list[Attribute]) -> Tag | BrokenTag:
        if not self._text.startswith(">", at):
            why = "a `<` comes" if self._text.startswith("<", at) else "the file ends"
            return _incomplete(begin, f"{why} before its `>`")
        name = self._text[begin.start + 1 : begin.end]
        closed = self._text[at - 1] == "/"
        return Tag(name, tuple(attributes), Span(begin.start, at + 1), closed)

    def _attribute(self, item: re.Match[str]) -> Attribute | BrokenTag:
        name, start, end = item[2], item.start(2), item.end()
        if item[3]:
            return self._quoted(name, start, end, item[3])
        if item[4] is None:
            return Attribute(name, None, Span(start, end), Span(end, end), quoted=False)
        if item[4].endswith("/") and self._text.startswith(">", end):
            end -= 1  # it closes the tag
        value = Span(item.start(4), end)
        return Attribute(name, self._text[value.start : end], Span(start, end), value, quoted=False)

    def _quoted(self, name: str, start: int, inner: int, quote: str) -> Attribute | BrokenTag:
        end = self._closing(quote, inner)
        if end < 0:
            return _endless(name, Span(start, inner), quote)
        value = decoded(self._text[inner:end])
        return Attribute(name, value, Span(start, end + 1), Span(inner, end), quoted=True)

    def _closing(self, quote: str, inner: int) -> int:
        if inner >= self._no_quote.get(quote, inner + 1):
            return -1
        end = self._text.find(quote, inner)
        while not self._ours and end > inner and self._text[end - 1] == "\\":
            end = self._text.find(quote, end + 1)
        if end < 0:
            self._no_quote[quote] = inner
        return end


def _incomplete(begin: Span, why: str) -> BrokenTag:
    help_ = "write `>` after the attributes"
    return BrokenTag(CHATMD_BROKEN_TAG, f"the tag is not complete: {why}", begin, help_)


def _skipped(start: int, skipped: str) -> BrokenTag:
    start += len(skipped) - len(skipped.lstrip(BLANKS))
    shown = skipped.strip(BLANKS)
    help_ = 'write attributes as `name="value"`'
    place = Span(start, start + len(shown))
    return BrokenTag(CHATMD_BROKEN_TAG, f"`{brief(shown)}` is not an attribute", place, help_)


def _endless(name: str, place: Span, quote: str) -> BrokenTag:
    headline = f"the value of `{brief(name)}` has no closing quote"
    return BrokenTag(CHATMD_UNTERMINATED, headline, place, f"add the closing `{quote}`")
