"""Read the expectations of an `expect`, `state` or `diagnostics` block, with their spans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.model.codes.suites import BAD_DIAGNOSTIC_LINE, BAD_EXPECTATION
from bylaw.model.diagnostic import Diagnostic, Severity, error
from bylaw.model.errors import LoadError
from bylaw.model.source import Span
from bylaw.model.strict_json import JsonError, read_json
from bylaw.tools.suites.commands import MAX_FINDINGS
from bylaw.tools.suites.json_text import write_json
from bylaw.tools.suites.markdown import lines_of
from bylaw.tools.suites.page import Expected, ExpectedLines

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.source import SourceFile
    from bylaw.model.values import JSON
    from bylaw.tools.suites.markdown import Fence

_DIAGNOSTIC = re.compile(rf'({"|".join(Severity)}) +(\S+) +(".*") *')


def read_decisions(source: SourceFile, block: Fence) -> tuple[ExpectedLines, list[Diagnostic]]:
    """Read the objects of an `expect` block, one per line."""
    return _read_lines(source, block, _read_object)


def read_diagnostics(source: SourceFile, block: Fence) -> tuple[ExpectedLines, list[Diagnostic]]:
    """Read the lines of a `diagnostics` block, each in the form of `diagnostic_line`."""
    return _read_lines(source, block, _read_diagnostic)


def read_state(source: SourceFile, block: Fence) -> tuple[Expected, list[Diagnostic]]:
    """Read the object of a `state` or `holds` block. It may have several lines."""
    body = source.slice(block.body)
    start = block.body.start + len(body) - len(body.lstrip())
    place = Span(start, start + len(body.strip()))
    if place.start == place.end:
        return Expected({}, place), [_refused(source, block.span, "missing JSON object")]
    try:
        return Expected(_read_object(source, place), place), []
    except LoadError as refused:
        return Expected({}, place), refused.diagnostics


def diagnostic_line(severity: str, code: str, underlined: str) -> str:
    """Write a diagnostic as a page does: the underlined text as JSON string, no columns."""
    return f"{severity} {code} {write_json(underlined)}"


def _read_lines(
    source: SourceFile, block: Fence, read: Callable[[SourceFile, Span], JSON]
) -> tuple[ExpectedLines, list[Diagnostic]]:
    lines: list[Expected] = []
    findings: list[Diagnostic] = []
    for place in lines_of(source, block.body):
        if not source.slice(place).strip():
            continue
        try:
            lines.append(Expected(read(source, place), place))
        except LoadError as refused:
            findings += refused.diagnostics
        if len(findings) == MAX_FINDINGS:
            break
    return ExpectedLines(tuple(lines), block.body.end), findings


def _read_object(source: SourceFile, place: Span) -> JSON:
    try:
        value = read_json(source.slice(place))
    except JsonError as problem:
        span = Span(place.start + problem.span.start, place.start + problem.span.end)
        raise LoadError([_refused(source, span, problem.told_of("this is"))]) from None
    if not isinstance(value, dict):
        raise LoadError([_refused(source, place, "this is JSON, but not an object")])
    return value


def _refused(source: SourceFile, span: Span, headline: str) -> Diagnostic:
    help_ = 'write a JSON object such as `{"verdict": "deny"}`'
    return error(BAD_EXPECTATION, headline, source, span, help=help_)


def _read_diagnostic(source: SourceFile, place: Span) -> JSON:
    found = _DIAGNOSTIC.fullmatch(source.slice(place))
    try:
        underlined = read_json(found[3]) if found else None
    except JsonError:
        underlined = None
    if found is None or not isinstance(underlined, str):
        headline = "this line is not a diagnostic"
        help_ = 'write severity, code and the underlined text: `error empty-case "A case"`'
        raise LoadError([error(BAD_DIAGNOSTIC_LINE, headline, source, place, help=help_)])
    return diagnostic_line(found[1], found[2], underlined)
