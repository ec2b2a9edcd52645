"""The nouns of a page that is a test."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from bylaw.model.source import SourceFile, Span
    from bylaw.model.values import JSON


class File(Struct, frozen=True):
    """A file to write into the folder of the case; `word` names the language of a rule file."""

    path: str
    text: str
    word: str
    place: Span


class Step(Struct, frozen=True):
    """A command and what it must print; `expectation` is the place of output and exit code."""

    words: tuple[str, ...]
    output: str
    exit_code: int
    command: Span
    expectation: Span


class Edited(Struct, frozen=True):
    """A file that somebody writes anew, between the commands around it."""

    file: File


class After(Struct, frozen=True):
    """What a file must hold, to the byte, after the commands before it; `body` is its place."""

    path: str
    text: str
    place: Span
    body: Span


class Removed(Struct, frozen=True):
    """A file that somebody takes away, between the commands around it."""

    path: str
    place: Span


class Tree(Struct, frozen=True):
    """The files and empty folders that must lie below a folder; `body` is their place."""

    path: str
    names: tuple[str, ...]
    place: Span
    body: Span


class Holds(Struct, frozen=True):
    """What a file of JSON must hold at least, after the commands before it."""

    path: str
    expected: Expected
    place: Span


class Expected(Struct, frozen=True):
    """A value that the page expects, and where it is written."""

    value: JSON
    place: Span


class ExpectedLines(Struct, frozen=True):
    """What a block expects, a value a line; further lines would go to `end`."""

    lines: tuple[Expected, ...]
    end: int


# What follows one another in a case.
AnyStep: TypeAlias = Step | Edited | Removed | After | Tree | Holds


class Case(Struct, frozen=True):
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


class Page(Struct, frozen=True):
    """A document and its cases."""

    source: SourceFile
    cases: tuple[Case, ...]
