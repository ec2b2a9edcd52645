"""Find the next mark in a text: the start of RAW, of a comment or of a tag.

Most of a text is words, so two searches, one for RAW and one for the rest, each pass long runs at
once. The result of the search that went further is kept, so no character is searched twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import re

RAW, RAW_END = "RAW|", "|RAW"
COMMENT, COMMENT_END = "<!--", "-->"


class Mark(NamedTuple):
    """The first characters of RAW, a comment or a tag. RAW and comments have no name."""

    start: int
    end: int
    name: str
    closing: bool


class Marks:
    """Finds the marks of one text, from its start to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._raw, self._raw_from = -1, len(text) + 1
        self._tag: re.Match[str] | None = None
        self._tag_from = len(text) + 1
        self._pattern: re.Pattern[str] | None = None

    def next(self, tags: re.Pattern[str], at: int) -> Mark | None:
        """Return the first mark from `at` on. `tags` matches comments, and tags as (`/`, name)."""
        tag, raw = self._next_tag(tags, at), self.next_raw(at)
        if raw >= 0 and (tag is None or raw < tag.start()):
            return Mark(raw, raw + len(RAW), "", closing=False)
        if tag is None:
            return None
        return Mark(tag.start(), tag.end(), tag[2] or "", closing=bool(tag[1]))

    def next_raw(self, at: int) -> int:
        """Return where the first RAW from `at` on starts, or -1."""
        known = self._raw_from <= at and (self._raw >= at or self._raw < 0)
        if not known:
            self._raw, self._raw_from = self._text.find(RAW, at), at
        return self._raw

    def _next_tag(self, tags: re.Pattern[str], at: int) -> re.Match[str] | None:
        known = self._pattern is tags and self._tag_from <= at
        if not known or (self._tag is not None and self._tag.start() < at):
            self._tag, self._tag_from = tags.search(self._text, at), at
            self._pattern = tags
        return self._tag
