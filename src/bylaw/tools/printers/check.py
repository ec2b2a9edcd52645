"""Print the report of `bylaw check` as text or as data for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.diagnostic import Severity
from bylaw.tools.check import languages
from bylaw.tools.printers import json, text
from bylaw.tools.printers.table import aligned, flowing
from bylaw.tools.printers.wording import number_of, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.tools.check import BookReport, Report

HEADINGS = ("book", "language", "rules", "files", "trust", "found by")


def as_data(report: Report) -> dict[str, object]:
    """Return the report as data for JSON."""
    books = [
        {
            "path": book.path,
            "dialect": book.dialect,
            "rules": book.rules,
            "files": book.files,
            "trusted": book.trusted,
            "why": book.why,
        }
        for book in report.books
    ]
    told: dict[str, object] = {"books": books, "diagnostics": json.as_data(report.diagnostics)}
    return told if books else {**told, "languages": dict(languages())}


def render(report: Report, *, limit: int, color: bool = False) -> str:
    """Print the books within a width, the diagnostics, and a summary line."""
    rows = [HEADINGS, *map(_row, report.books)]
    books = _text(flowing(rows, limit)) if report.books else _nothing(report)
    findings = text.render(report.diagnostics, color=color)
    return "\n".join(part for part in (books, findings, _summary(report)) if part)


def _row(book: BookReport) -> tuple[str, ...]:
    needed = "given" if book.trusted else "not given"
    trust = needed if book.can_start else "not needed"
    return (
        shown(book.name), shown(book.dialect), str(book.rules), str(book.files), trust,
        shown(book.why),
    )  # fmt: skip


def _nothing(report: Report) -> str:
    if report.diagnostics:
        return ""
    places = [(f"  {place.pattern}", place.dialect) for place in report.places]
    spoken = [(f"  {shown(name)}", shown(spec)) for name, spec in languages()]
    return "\n".join(
        [
            f"no rule files in {shown(report.root)}",
            "",
            *(["looked for:", _text(aligned(places))] if places else []),
            *(["languages:", _text(aligned(spoken))] if spoken else []),
            "add other files to bylaw.toml:",
            "  [[book]]",
            '  path = "prompts/main.chatmd"',
            "",
        ]
    )


def _text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _summary(report: Report) -> str:
    counted = [number_of(len(report.books), "book"), number_of(_rules(report), "rule")]
    found = [one.severity for one in report.diagnostics]
    for severity, word in ((Severity.ERROR, "error"), (Severity.WARNING, "warning")):
        counted.append(number_of(found.count(severity), word))
    return ", ".join(counted) + "\n"


def _rules(report: Report) -> int:
    return sum(book.rules for book in report.books)
