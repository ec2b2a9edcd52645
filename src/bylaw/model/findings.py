"""Findings about one text as they are noted → those that are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.diagnostic import Severity, in_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.diagnostic import Diagnostic

# A text with more of them is nothing that somebody mends line by line.
MAX_ERRORS = 100


class FindingList:
    """What is wrong with one text, in `found`, and how much of it are errors."""

    def __init__(self, found: Iterable[Diagnostic] = ()) -> None:
        self.found: list[Diagnostic] = []
        self.errors = 0
        self.add(*found)

    def add(self, *findings: Diagnostic) -> None:
        """Some findings more."""
        self.found += findings
        self.errors += sum(one.severity is Severity.ERROR for one in findings)

    @property
    def are_many(self) -> bool:
        """Whether there are more errors than anybody is told of."""
        return self.errors > MAX_ERRORS

    def told(self) -> list[Diagnostic]:
        """All findings; of very many errors the first, and nothing else."""
        if not self.are_many:
            return self.found
        return in_order(one for one in self.found if one.severity is Severity.ERROR)[:MAX_ERRORS]
