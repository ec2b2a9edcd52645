"""The text of a template and its tokens → spans in the file of the template."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from bylaw.expr.template.sandbox import located
from bylaw.model.source import Span

if TYPE_CHECKING:
    from bylaw.model.source import SourceFile

_OPENS = ("variable_begin", "block_begin")
_CLOSES = ("variable_end", "block_end")
_LINE_BREAK = re.compile("\r\n?")


class _Token(NamedTuple):
    start: int
    end: int
    kind: str
    value: str


class TemplateText:
    """A template inside a file. Offsets start at its start; a line break is one character."""

    def __init__(self, source: SourceFile, span: Span) -> None:
        self.source = source
        self.span = span
        # The text for Jinja: line breaks are newlines.
        self.text = _LINE_BREAK.sub("\n", source.slice(span))

    @cached_property
    def _double_breaks(self) -> list[int]:
        found = re.finditer("\r\n", self.source.slice(self.span))
        return [each.start() - count for count, each in enumerate(found)]

    def in_file(self, start: int, end: int) -> Span:
        """Return the span in the file of a part of the template, without the blanks around it."""
        end = start + len(self.text[start:end].rstrip())
        start = end - len(self.text[start:end].lstrip())
        return Span(self._offset(start), self._offset(end))

    def _offset(self, at: int) -> int:
        at = min(at, len(self.text))
        return self.span.start + at + bisect_left(self._double_breaks, at)

    @cached_property
    def tokens(self) -> list[_Token]:
        """The tokens with their places; computed when they are first needed."""
        return [
            _Token(start, start + len(value), kind, value)
            for start, kind, value in located(self.text)
        ]

    def _index(self, offset: int) -> int:
        return max(0, bisect_right(self.tokens, offset, key=lambda token: token.start) - 1)

    def token_span(self, offset: int) -> Span:
        """Return the span of the token at an offset."""
        token = self.tokens[self._index(offset)]
        return self.in_file(token.start, token.end)

    def token_after(self, offset: int) -> Span:
        """Return the span of the token after the one at an offset."""
        token = self.tokens[min(self._index(offset) + 1, len(self.tokens) - 1)]
        return self.in_file(token.start, token.end)

    def name_after(self, offset: int, name: str) -> Span:
        """Return the span of the next token with this text, at or after an offset."""
        begin = self._index(offset)
        token = next((t for t in self.tokens[begin:] if t.value == name), self.tokens[begin])
        return self.in_file(token.start, token.end)

    def call_span(self, start: int, bracket: int) -> Span:
        """Return the span from the start of the called value to the closing bracket."""
        depth = 0
        for token in self.tokens[self._index(bracket) :]:
            depth += (token.value == "(") - (token.value == ")")
            if depth == 0:
                return self.in_file(start, token.end)
        return self.in_file(start, bracket + 1)

    def tag_span(self, offset: int) -> Span:
        """Return the span of the `{{ … }}` or `{% … %}` around an offset."""
        begin = end = self._index(offset)
        while begin > 0 and self.tokens[begin].kind not in _OPENS:
            begin -= 1
        while end < len(self.tokens) - 1 and self.tokens[end].kind not in _CLOSES:
            end += 1
        return self.in_file(self.tokens[begin].start, self.tokens[end].end)

    def to_end_of_tag(self, offset: int) -> Span:
        """Return the span from an offset to the end of its tag, without the closing braces."""
        begin = end = self._index(offset)
        while end < len(self.tokens) - 1 and self.tokens[end + 1].kind not in _CLOSES:
            end += 1
        return self.in_file(self.tokens[begin].start, self.tokens[end].end)
