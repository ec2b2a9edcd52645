"""All findings about one text → those that are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.diagnostic import Severity, in_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.model.diagnostic import Diagnostic

# A text with more errors is not fixed line by line.
MAX_ERRORS = 100


class FindingList:
    """The findings about one text, in `found`, and the number of errors among them."""

    def __init__(self, found: Iterable[Diagnostic] = ()) -> None:
        self.found: list[Diagnostic] = []
        self.errors = 0
        self.add(*found)

    def add(self, *findings: Diagnostic) -> None:
        """Add findings."""
        self.found += findings
        self.errors += sum(one.severity is Severity.ERROR for one in findings)

    @property
    def are_many(self) -> bool:
        """Whether there are more errors than are shown."""
        return self.errors > MAX_ERRORS

    def told(self) -> list[Diagnostic]:
        """Return all findings; if there are too many errors, only the first of those."""
        if not self.are_many:
            return self.found
        return in_order(one for one in self.found if one.severity is Severity.ERROR)[:MAX_ERRORS]
