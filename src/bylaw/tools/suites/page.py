"""The nouns of a page that is a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bylaw.model.source import SourceFile, Span


@dataclass(frozen=True, slots=True)
class File:
    """A file to write into the folder of the case before anything runs."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """A command and what it must print; `expectation` is the place of output and exit code."""

    words: tuple[str, ...]
    output: str
    exit_code: int
    command: Span
    expectation: Span


@dataclass(frozen=True, slots=True)
class Case:
    """One test: a heading, the requirements that it checks, and what its blocks hold."""

    title: str
    requirements: tuple[str, ...]
    files: tuple[File, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A document and its cases."""

    source: SourceFile
    cases: tuple[Case, ...]
