"""What is wrong with a document of the context language, with the place that its errors name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.diagnostic import Diagnostic, Severity
from bylaw.model.suggest import did_you_mean, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.codes import Code
    from bylaw.model.source import SourceFile, Span

MAX_PROBLEMS = 100  # of a phase: those that stand first
# Finding the name that was meant takes time, and whoever has so many slips reads the first ones.
MAX_HINTS = 20


class Place(Struct, frozen=True, gc=False):
    """Where something stands: its text, its block and the id that it has there."""

    source: SourceFile
    span: Span
    block_type: str = ""
    id: str = ""

    @property
    def line(self) -> int:
        """The line in its file, from 1."""
        return self.source.position(self.span.start).line

    def at(self, span: Span) -> Place:
        """Another piece of the same thing."""
        return Place(self.source, span, self.block_type, self.id)


class Problem(Struct, frozen=True):
    """One error of a document; `candidates` are the symbols that a reference could mean."""

    code: Code
    message: str
    place: Place
    hint: str = ""
    candidates: tuple[str, ...] = ()

    def diagnostic(self) -> Diagnostic:
        """As every other language tells it."""
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
    """The problems of the first phase that found any, in the order of the document."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(problems[0].message)
        self.problems = problems


class Phase:
    """Gathers the problems of one phase; the phases after it run only if there are none."""

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
        """Note a problem."""
        if len(self.problems) >= 2 * MAX_PROBLEMS:
            self.problems = self._first()
        self.problems.append(Problem(code, message, place, hint, candidates))

    def near(self, wrong: str, known: Iterable[str]) -> str:
        """A hint that names what was probably meant, as long as few things are wrong."""
        return did_you_mean(wrong, known) if self._few else ""

    def nearest(self, wrong: str, known: Iterable[str]) -> str:
        """What was probably meant, or nothing; looked for as long as few things are wrong."""
        return nearest(wrong, known) if self._few else ""

    @property
    def _few(self) -> bool:
        return len(self.problems) < MAX_HINTS

    def end(self) -> None:
        """DocumentError if there was a problem."""
        if self.problems:
            raise DocumentError(self._first())

    def _first(self) -> list[Problem]:
        return sorted(self.problems, key=_order)[:MAX_PROBLEMS]


def _order(problem: Problem) -> tuple[str, int]:
    """The order of the document: files by their paths."""
    return problem.place.source.path, problem.place.span.start
