"""The nouns of a page that is a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from bylaw.model.source import SourceFile, Span
    from bylaw.model.values import JSON


@dataclass(frozen=True, slots=True)
class File:
    """A file to write into the folder of the case; `word` names the language of a rule file."""

    path: str
    text: str
    word: str
    place: Span


@dataclass(frozen=True, slots=True)
class Step:
    """A command and what it must print; `expectation` is the place of output and exit code."""

    words: tuple[str, ...]
    output: str
    exit_code: int
    command: Span
    expectation: Span


@dataclass(frozen=True, slots=True)
class Edited:
    """A file that somebody writes anew, between the commands around it."""

    file: File


@dataclass(frozen=True, slots=True)
class After:
    """What a file must hold, to the byte, after the commands before it; `body` is its place."""

    path: str
    text: str
    place: Span
    body: Span


@dataclass(frozen=True, slots=True)
class Removed:
    """A file that somebody takes away, between the commands around it."""

    path: str
    place: Span


@dataclass(frozen=True, slots=True)
class Tree:
    """The files and empty folders that must lie below a folder; `body` is their place."""

    path: str
    names: tuple[str, ...]
    place: Span
    body: Span


@dataclass(frozen=True, slots=True)
class Holds:
    """What a file of JSON must hold at least, after the commands before it."""

    path: str
    expected: Expected
    place: Span


@dataclass(frozen=True, slots=True)
class Expected:
    """A value that the page expects, and where it is written."""

    value: JSON
    place: Span


@dataclass(frozen=True, slots=True)
class ExpectedLines:
    """What a block expects, a value a line; further lines would go to `end`."""

    lines: tuple[Expected, ...]
    end: int


# What follows one another in a case.
AnyStep: TypeAlias = Step | Edited | Removed | After | Tree | Holds


@dataclass(frozen=True, slots=True)
class Case:
    """One test: a heading, the requirements that it checks, and what its blocks hold.

    `files` are written first, `steps` follow one another. Blocks stay apart, so that those which
    all cases share are not copied for each. No block of `diagnostics` is another thing than an
    empty one, which says that there must be none.
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


@dataclass(frozen=True, slots=True)
class Page:
    """A document and its cases."""

    source: SourceFile
    cases: tuple[Case, ...]
