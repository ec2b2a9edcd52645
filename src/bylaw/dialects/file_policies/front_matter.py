"""The text of a policy file → the spans of its YAML and of its body.

    ---
    trigger: src/**/*.py
    ---
    Instructions for the agent.

Both marker lines are exactly three dashes: `----` does not end the YAML (DW-109).
"""

from __future__ import annotations

import re

from msgspec import Struct

from bylaw.model.codes.policies import POLICY_FRONT_MATTER
from bylaw.model.diagnostic import error
from bylaw.model.errors import PolicyError
from bylaw.model.source import BOM, SourceFile, Span

_LINE = r"---[ \t]*\r?(?:\n|\Z)"
_OPENING = re.compile(rf"{BOM}?{_LINE}")
_CLOSING = re.compile(rf"^{_LINE}", re.MULTILINE)
_BLANK_LINES = re.compile(r"(?:[ \t]*\n)*")


class FrontMatter(Struct, frozen=True):
    """The spans of the YAML, of the line that ends it, and of the body."""

    yaml: Span
    closing: Span
    body: Span


def split(source: SourceFile) -> FrontMatter:
    """Split a policy file; raise PolicyError if it has no front matter."""
    opening = _OPENING.match(source.text)
    if opening is None:
        raise _refused(source, "a policy must begin with a line `---`", first_line(source))
    closing = _CLOSING.search(source.text, opening.end())
    if closing is None:
        place = Span(opening.start(), opening.start() + len(opening[0].rstrip()))
        raise _refused(source, "this `---` has no closing `---`", place)
    line = Span(closing.start(), closing.start() + len("---"))
    body = Span(closing.end(), len(source.text))
    return FrontMatter(Span(opening.end(), closing.start()), line, body)


def body_text(source: SourceFile, body: Span) -> str:
    """Return the body without blank lines around it, with `\\n` as line break."""
    text = source.slice(body).replace("\r\n", "\n")
    begun = _BLANK_LINES.match(text)
    return text[begun.end() if begun else 0 :].rstrip()


def head(source: SourceFile) -> str:
    """Return the YAML; all text after the opening line if it is not closed; empty without one."""
    opening = _OPENING.match(source.text)
    if opening is None:
        return ""
    closing = _CLOSING.search(source.text, opening.end())
    return source.text[opening.end() : closing.start() if closing else None]


def first_line(source: SourceFile) -> Span:
    """Return the place for findings about the whole file or its name."""
    return Span(0, len(source.text.partition("\n")[0].rstrip()))


def _refused(source: SourceFile, headline: str, span: Span) -> PolicyError:
    help_ = "write `---`, the keys and `---` on lines of their own, then the instructions"
    return PolicyError([error(POLICY_FRONT_MATTER, headline, source, span, help=help_)])
