"""Values that a suite page is read into, and its Markdown: headings, fenced blocks, cases.

All text outside of headings and fenced blocks is prose.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import fields

from bylaw.model.source import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.model.source import SourceFile
    from bylaw.model.values import JSON


class PageFile(Struct, frozen=True):
    """A file to write into the folder of the case. `word` names the language of a rule file."""

    path: str
    text: str
    word: str
    place: Span


class CommandStep(Struct, frozen=True):
    """A command and its expected output. `expectation` is the span of output and exit code."""

    words: tuple[str, ...]
    output: str
    exit_code: int
    command: Span
    expectation: Span


class FileEdit(Struct, frozen=True):
    """A file that is written again between two commands."""

    file: PageFile


class FileExpectation(Struct, frozen=True):
    """The exact content of a file after the commands before it. `body` is the span of the text."""

    path: str
    text: str
    place: Span
    body: Span


class FileRemoval(Struct, frozen=True):
    """A file that is removed between two commands."""

    path: str
    place: Span


class FolderExpectation(Struct, frozen=True):
    """The files and empty folders expected below a folder. `body` is the span of the list."""

    path: str
    names: tuple[str, ...]
    place: Span
    body: Span


class JsonExpectation(Struct, frozen=True):
    """The part of a JSON file that is expected after the commands before it."""

    path: str
    expected: ExpectedValue
    place: Span


class ExpectedValue(Struct, frozen=True):
    """A value that the page expects, and its span."""

    value: JSON
    place: Span


class ExpectedLines(Struct, frozen=True):
    """The values that a block expects, one per line. `end` is where new lines are added."""

    lines: tuple[ExpectedValue, ...]
    end: int


# Steps run in the order of the page.
AnyStep: TypeAlias = (
    CommandStep | FileEdit | FileRemoval | FileExpectation | FolderExpectation | JsonExpectation
)


class Case(Struct, frozen=True):
    """One test: a heading, the requirements that it checks, and the contents of its blocks.

    `files` are written first, then `steps` run in order. Blocks are not merged, so that blocks
    shared by all cases are not copied. A missing `diagnostics` block is not the same as an empty
    one: an empty one expects that there are no diagnostics.
    """

    title: str
    requirements: tuple[str, ...]
    place: Span
    files: tuple[PageFile, ...] = ()
    steps: tuple[AnyStep, ...] = ()
    events: tuple[str, ...] = ()
    decisions: tuple[ExpectedLines, ...] = ()
    states: tuple[ExpectedValue, ...] = ()
    diagnostics: tuple[ExpectedLines, ...] = ()


class Page(Struct, frozen=True):
    """A page and its cases."""

    source: SourceFile
    cases: tuple[Case, ...]


class Blocks(Struct):
    """Contents of blocks by kind, in the order of the page."""

    files: list[PageFile] = field(default_factory=list)
    steps: list[AnyStep] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    decisions: list[ExpectedLines] = field(default_factory=list)
    states: list[ExpectedValue] = field(default_factory=list)
    diagnostics: list[ExpectedLines] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The number of blocks and commands."""
        return sum(len(getattr(self, one.name)) for one in fields(self))

    @property
    def has_event_checks(self) -> bool:
        """Whether a block expects results of the events."""
        return bool(self.decisions or self.states)

    @property
    def has_checks(self) -> bool:
        """Whether a block or command can fail."""
        commands = any(isinstance(step, CommandStep) for step in self.steps)
        return bool(self.has_event_checks or self.diagnostics or commands)

    @property
    def is_empty(self) -> bool:
        """Whether there are no blocks."""
        return self == Blocks()

    def plus(self, others: Blocks) -> Blocks:
        """Return these blocks followed by the others."""
        return Blocks(
            self.files + others.files,
            self.steps + others.steps,
            self.events + others.events,
            self.decisions + others.decisions,
            self.states + others.states,
            self.diagnostics + others.diagnostics,
        )

    def case(self, title: str, requirements: tuple[str, ...], place: Span) -> Case:
        """Build a case from these blocks. The later of two files with the same path is used."""
        files = {file.path: file for file in self.files}
        return Case(
            title,
            requirements,
            place,
            tuple(files.values()),
            tuple(self.steps),
            tuple(self.events),
            tuple(self.decisions),
            tuple(self.states),
            tuple(self.diagnostics),
        )


# Possessive, so that long lines cause no backtracking.
_HEADING = re.compile(r"(#{1,6}) ++(.*+)")
_FENCE = re.compile(r"(`{3,}+) *+([^`]*+)$")


class Heading(Struct, frozen=True):
    """A line that begins with `#`. `span` is the span of the title."""

    level: int
    title: str
    span: Span


class Fence(Struct, frozen=True):
    """A fenced block. `span` covers its info string, `body` the lines inside."""

    info: str
    span: Span
    body: Span
    closed: bool


def scan_markdown(source: SourceFile) -> Iterator[Heading | Fence]:
    """Yield headings and blocks in the order of the page."""
    lines = _lines(source.text)
    for start, line in lines:
        if heading := _HEADING.match(line):
            yield Heading(len(heading[1]), heading[2].rstrip(" "), _span(start, heading))
        elif fence := _FENCE.match(line):
            body = Span(start + len(line) + 1, start + len(line) + 1)
            yield _fence(fence[1], fence[2].rstrip(" "), _span(start, fence), body, lines)


def lines_of(source: SourceFile, body: Span) -> Iterator[Span]:
    """Yield the lines inside a block, without their line breaks."""
    start = body.start
    for line in source.slice(body).removesuffix("\n").split("\n"):
        yield Span(start, start + len(line.removesuffix("\r")))
        start += len(line) + 1


def _fence(
    ticks: str, info: str, span: Span, body: Span, lines: Iterator[tuple[int, str]]
) -> Fence:
    for start, line in lines:
        if line.rstrip() == ticks:
            return Fence(info, span, body, closed=True)
        body = Span(body.start, start + len(line) + 1)
    return Fence(info, span, body, closed=False)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line.removesuffix("\r")
        start += len(line) + 1


def _span(start: int, found: re.Match[str]) -> Span:
    at = start + found.start(2)
    return Span(at, at + len(found[2].rstrip(" ")))
