"""The text of a policy file → the place of its YAML and the place of its body.

    ---
    trigger: src/**/*.py
    ---
    What the agent is told.

Both lines are three dashes and nothing else: `----` ends nothing (DW-109).
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
    """Where the YAML stands, where the line that ends it, and where the body."""

    yaml: Span
    closing: Span
    body: Span


def split(source: SourceFile) -> FrontMatter:
    """The parts of a policy file; PolicyError if it has no front matter."""
    opening = _OPENING.match(source.text)
    if opening is None:
        raise _refused(source, "a policy begins with a line `---`", first_line(source))
    closing = _CLOSING.search(source.text, opening.end())
    if closing is None:
        place = Span(opening.start(), opening.start() + len(opening[0].rstrip()))
        raise _refused(source, "this `---` is never closed", place)
    line = Span(closing.start(), closing.start() + len("---"))
    body = Span(closing.end(), len(source.text))
    return FrontMatter(Span(opening.end(), closing.start()), line, body)


def body_text(source: SourceFile, body: Span) -> str:
    """The body without blank lines around it, with plain line breaks."""
    text = source.slice(body).replace("\r\n", "\n")
    begun = _BLANK_LINES.match(text)
    return text[begun.end() if begun else 0 :].rstrip()


def head(source: SourceFile) -> str:
    """The YAML, or all that follows an opening line that is never closed; empty without one."""
    opening = _OPENING.match(source.text)
    if opening is None:
        return ""
    closing = _CLOSING.search(source.text, opening.end())
    return source.text[opening.end() : closing.start() if closing else None]


def first_line(source: SourceFile) -> Span:
    """Where what is wrong with the whole file, or with its name, is told."""
    return Span(0, len(source.text.partition("\n")[0].rstrip()))


def _refused(source: SourceFile, headline: str, span: Span) -> PolicyError:
    help_ = "write `---`, the keys, `---`, each on lines of their own, and the instructions below"
    return PolicyError([error(POLICY_FRONT_MATTER, headline, source, span, help=help_)])
