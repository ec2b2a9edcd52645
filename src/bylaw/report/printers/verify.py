"""Print the results of `bylaw verify` and `bylaw context`, as text or as data for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.display import display_text, number_of, short_json
from bylaw.report.printers.layout import align

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.model.session import EnabledNames
    from bylaw.report.context import ContextVariable, MessageAnswer
    from bylaw.report.context_format import FormattedFile
    from bylaw.report.verify import RecordNumbers, ReplayCounts, VerifyFinding, VerifyReport

MAX_SHOWN_RANGES = 10


def render_verify(report: VerifyReport) -> str:
    """Print facts about the journal, then its problems."""
    lines = [*_facts(report), *(_problem_line(one) for one in report.findings)]
    more = report.wrong - len(report.findings)
    if more:
        lines.append(f"problem: {more:,} more")
    lines.append(
        f"{number_of(report.wrong, 'problem')} found" if report.wrong else "no problems found"
    )
    return "".join(f"{line}\n" for line in lines)


def _facts(report: VerifyReport) -> Iterator[str]:
    records, sessions = number_of(report.records, "record"), number_of(report.sessions, "session")
    yield f"{display_text(report.path)}: {records} of {sessions}"
    if report.erased.count:
        yield f"erased: {_record_numbers(report.erased)}"
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


def _decisions(decisions: ReplayCounts) -> Iterator[str]:
    yield f"decisions replayed: {decisions.same:,} identical"
    for why, numbers in decisions.unchecked.items():
        yield f"not replayed, {why}: {_record_numbers(numbers)}"


def _record_numbers(numbers: RecordNumbers) -> str:
    ranges = [str(a) if a == b else f"{a} to {b}" for a, b in numbers.ranges[:MAX_SHOWN_RANGES]]
    more = " …" if len(numbers.ranges) > MAX_SHOWN_RANGES else ""
    return f"{number_of(numbers.count, 'record')} ({', '.join(ranges)}{more})"


def _problem_line(one: VerifyFinding) -> str:
    places = [
        "" if one.record is None else f"record {one.record}",
        "" if one.session is None else f"session `{one.session}`",
    ]
    where = " of ".join(filter(None, places))
    return display_text(f"problem: {where}: {one.text}" if where else f"problem: {one.text}")


def verify_data(report: VerifyReport) -> dict[str, object]:
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


def _as_ranges(numbers: RecordNumbers) -> dict[str, object]:
    return {"count": numbers.count, "records": [list(one) for one in numbers.ranges]}


VARIABLE_HEADINGS = ("variable", "type", "value")
NOTHING_ENABLED = "nothing is enabled"
MAX_VALUE = 200  # characters of a value in a table


def answer_as_data(answer: MessageAnswer) -> dict[str, object]:
    """Return an answer of `bylaw context call` as data."""
    return {
        "message": answer.message,
        "result": answer.result.value,
        "output": answer.output,
        "state": answer.state,
        "enabled": enabled_as_data(answer.enabled),
    }


def enabled_as_data(enabled: EnabledNames) -> dict[str, list[str]]:
    """Return the qualified names of everything that is enabled."""
    return {kind: list(names) for kind, names in _kinds(enabled)}


def state_as_data(variables: Sequence[ContextVariable], enabled: EnabledNames) -> dict[str, object]:
    """Return the variables and everything that is enabled."""
    listed = [{"name": one.name, "type": one.type, "value": one.value} for one in variables]
    return {"variables": listed, "enabled": enabled_as_data(enabled)}


def render_variables(variables: Sequence[ContextVariable]) -> str:
    """Print a table of the variables."""
    if not variables:
        return "no variables\n"
    rows = [VARIABLE_HEADINGS, *map(_variable_row, variables)]
    return "".join(f"{line}\n" for line in align(rows))


def render_enabled(enabled: EnabledNames) -> str:
    """Print a line for each kind that has an enabled name."""
    lines = [
        f"{kind}: {display_text(', '.join(names))}" for kind, names in _kinds(enabled) if names
    ]
    return "".join(f"{line}\n" for line in lines or [NOTHING_ENABLED])


def formatted_files_data(files: Sequence[FormattedFile], *, with_text: bool) -> dict[str, object]:
    """Return the files, and whether their canonical form differs."""
    plain = [{"path": one.path, "changed": one.changed} for one in files]
    if with_text:
        return {
            "files": [{**data, "text": one.text} for data, one in zip(plain, files, strict=True)]
        }
    return {"files": plain}


def render_changed_files(files: Sequence[FormattedFile], word: str) -> str:
    """Print a line for each file that is not in canonical form."""
    return "".join(f"{word}: {display_text(one.path)}\n" for one in files if one.changed)


def _variable_row(one: ContextVariable) -> tuple[str, ...]:
    return (
        display_text(one.name),
        display_text(one.type),
        display_text(short_json(one.value, MAX_VALUE)),
    )


def _kinds(enabled: EnabledNames) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "responses", enabled.responses
    yield "workflows", enabled.workflows
    yield "protocols", enabled.protocols
