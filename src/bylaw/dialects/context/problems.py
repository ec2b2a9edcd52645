"""Errors in documents of the context language, with the places that error payloads name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.diagnostic import Diagnostic, Severity
from bylaw.model.suggest import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile, Span

MAX_PROBLEMS = 100  # of one phase: the first ones in the document
# Suggestions take time to compute, and only the first errors are likely to be read.
MAX_HINTS = 20


class Place(Struct, frozen=True, gc=False):
    """A place in a document: file, span, block, and the id of the declared thing."""

    source: SourceFile
    span: Span
    block_type: str = ""
    id: str = ""

    @property
    def line(self) -> int:
        """The line in the file, from 1."""
        return self.source.position(self.span.start).line

    def at(self, span: Span) -> Place:
        """Return the place of another span of the same thing."""
        return Place(self.source, span, self.block_type, self.id)


class Problem(Struct, frozen=True):
    """One error in a document. `candidates` are the symbols that a reference may refer to."""

    code: Code
    message: str
    place: Place
    hint: str = ""
    candidates: tuple[str, ...] = ()

    def diagnostic(self) -> Diagnostic:
        """Return the error as a diagnostic."""
        place = self.place
        return Diagnostic(
            self.code.name,
            Severity.ERROR,
            self.message,
            place.source,
            place.span,
            help=self.hint,
        )


class DocumentError(Exception):
    """The errors of the first phase that found any, in the order of the document."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems[0].message)
        self.problems = problems


class Phase:
    """Collects the errors of one phase. The next phase runs only if there are none."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(
        self,
        code: Code,
        message: str,
        place: Place,
        hint: str = "",
        candidates: tuple[str, ...] = (),
    ) -> None:
        """Add an error."""
        if len(self.problems) >= 2 * MAX_PROBLEMS:
            self.problems = self._first()
        self.problems.append(Problem(code, message, place, hint, candidates))

    def near(self, wrong: str, known: Iterable[str]) -> str:
        """Return a hint with the nearest known name; empty after `MAX_HINTS` errors."""
        return did_you_mean(wrong, known) if self._few else ""

    def nearest(self, wrong: str, known: Iterable[str]) -> str:
        """Return the nearest known name; empty if none is near, or after `MAX_HINTS` errors."""
        return nearest(wrong, known) if self._few else ""

    @property
    def _few(self) -> bool:
        return len(self.problems) < MAX_HINTS

    def end(self) -> None:
        """Raise DocumentError if the phase has an error."""
        if self.problems:
            raise DocumentError(self._first())

    def _first(self) -> list[Problem]:
        return sorted(self.problems, key=_order)[:MAX_PROBLEMS]


def _order(problem: Problem) -> tuple[str, int]:
    """Order errors by file path, then by position."""
    return problem.place.source.path, problem.place.span.start
