"""Values that a suite page is read into: files, steps, expectations, cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from bylaw.model.source import SourceFile, Span
    from bylaw.model.values import JSON


class File(Struct, frozen=True):
    """A file to write into the folder of the case. `word` names the language of a rule file."""

    path: str
    text: str
    word: str
    place: Span


class Step(Struct, frozen=True):
    """A command and its expected output. `expectation` is the span of output and exit code."""

    words: tuple[str, ...]
    output: str
    exit_code: int
    command: Span
    expectation: Span


class Edited(Struct, frozen=True):
    """A file that is written again between two commands."""

    file: File


class After(Struct, frozen=True):
    """The exact content of a file after the commands before it. `body` is the span of the text."""

    path: str
    text: str
    place: Span
    body: Span


class Removed(Struct, frozen=True):
    """A file that is removed between two commands."""

    path: str
    place: Span


class Tree(Struct, frozen=True):
    """The files and empty folders expected below a folder. `body` is the span of the list."""

    path: str
    names: tuple[str, ...]
    place: Span
    body: Span


class Holds(Struct, frozen=True):
    """The part of a JSON file that is expected after the commands before it."""

    path: str
    expected: Expected
    place: Span


class Expected(Struct, frozen=True):
    """A value that the page expects, and its span."""

    value: JSON
    place: Span


class ExpectedLines(Struct, frozen=True):
    """The values that a block expects, one per line. `end` is where new lines are added."""

    lines: tuple[Expected, ...]
    end: int


# Steps run in the order of the page.
AnyStep: TypeAlias = Step | Edited | Removed | After | Tree | Holds


class Case(Struct, frozen=True):
    """One test: a heading, the requirements that it checks, and the contents of its blocks.

    `files` are written first, then `steps` run in order. Blocks are not merged, so that blocks
    shared by all cases are not copied. A missing `diagnostics` block is not the same as an empty
    one: an empty one expects that there are no diagnostics.
    """

    title: str
    requirements: tuple[str, ...]
    place: Span
    files: tuple[File, ...] = ()
    steps: tuple[AnyStep, ...] = ()
    events: tuple[str, ...] = ()
    decisions: tuple[ExpectedLines, ...] = ()
    states: tuple[Expected, ...] = ()
    diagnostics: tuple[ExpectedLines, ...] = ()


class Page(Struct, frozen=True):
    """A page and its cases."""

    source: SourceFile
    cases: tuple[Case, ...]
