"""Print the report of `bylaw verify` as text or as data for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.tools.printers.wording import number_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.tools.verify.report import Decisions, Finding, Numbers, Report

MAX_SHOWN_RANGES = 10


def render(report: Report) -> str:
    """Print facts about the journal, then its problems."""
    lines = [*_facts(report), *(_wrong(one) for one in report.findings)]
    more = report.wrong - len(report.findings)
    if more:
        lines.append(f"problem: {more:,} more")
    lines.append(
        f"{number_of(report.wrong, 'problem')} found" if report.wrong else "no problems found"
    )
    return "".join(f"{line}\n" for line in lines)


def _facts(report: Report) -> Iterator[str]:
    records, sessions = number_of(report.records, "record"), number_of(report.sessions, "session")
    yield f"{shown(report.path)}: {records} of {sessions}"
    if report.erased.count:
        yield f"erased: {_numbered(report.erased)}"
    if report.sessions:
        yield f"sessions rebuilt: {report.folded:,} of {report.sessions:,}"
    if report.decisions is not None:
        yield from _decisions(report.decisions)
    if report.head is not None:
        yield f"head: {report.head[0]} {report.head[1].hex()}"
    if report.anchor is not None and report.anchor.fits:
        yield f"anchor: matches record {report.anchor.seq}"
    elif report.anchor is None:
        yield "anchor: none; note the head to detect a cut end"


def _decisions(decisions: Decisions) -> Iterator[str]:
    yield f"decisions replayed: {decisions.same:,} identical"
    for why, numbers in decisions.unchecked.items():
        yield f"not replayed, {why}: {_numbered(numbers)}"


def _numbered(numbers: Numbers) -> str:
    ranges = [str(a) if a == b else f"{a} to {b}" for a, b in numbers.ranges[:MAX_SHOWN_RANGES]]
    more = " …" if len(numbers.ranges) > MAX_SHOWN_RANGES else ""
    return f"{number_of(numbers.count, 'record')} ({', '.join(ranges)}{more})"


def _wrong(one: Finding) -> str:
    places = [
        "" if one.record is None else f"record {one.record}",
        "" if one.session is None else f"session `{one.session}`",
    ]
    where = " of ".join(filter(None, places))
    return shown(f"problem: {where}: {one.text}" if where else f"problem: {one.text}")


def as_data(report: Report) -> dict[str, object]:
    """Return the report as data for JSON."""
    head, anchor, decisions = report.head, report.anchor, report.decisions
    return {
        "journal": report.path,
        "ok": not report.wrong,
        "records": report.records,
        "sessions": report.sessions,
        "folded": report.folded,
        "erased": _as_ranges(report.erased),
        "head": None if head is None else {"seq": head[0], "chain": head[1].hex()},
        "anchor": None
        if anchor is None
        else {"path": anchor.path, "seq": anchor.seq, "fits": anchor.fits},
        "decisions": None
        if decisions is None
        else {
            "same": decisions.same,
            "unchecked": [
                {"why": why.value, **_as_ranges(numbers)}
                for why, numbers in decisions.unchecked.items()
            ],
        },
        "wrong": report.wrong,
        "findings": [
            {
                "what": one.flaw.value,
                "record": one.record,
                "session": one.session,
                "text": one.text,
            }
            for one in report.findings
        ],
    }


def _as_ranges(numbers: Numbers) -> dict[str, object]:
    return {"count": numbers.count, "records": [list(one) for one in numbers.ranges]}
