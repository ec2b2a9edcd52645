"""Print diagnostics as JSON, GitHub workflow commands or SARIF 2.1.0; list all diagnostic codes.

Lines and columns count from 1. Columns are characters in JSON and UTF-16 units in SARIF.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING
from urllib.parse import quote

from bylaw.model import codes
from bylaw.model.codes import Code
from bylaw.model.diagnostic import Diagnostic, Fix, Severity, sort_diagnostics
from bylaw.model.display import display_text, visible_in_json
from bylaw.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.source import SourceFile, Span


def render_json(diagnostics: Sequence[Diagnostic]) -> str:
    """Print one line: an object whose `diagnostics` are the diagnostics in order."""
    data = {"diagnostics": diagnostics_data(diagnostics)}
    return visible_in_json(json.dumps(data, ensure_ascii=False, separators=(",", ":"))) + "\n"


def diagnostics_data(diagnostics: Sequence[Diagnostic]) -> list[dict[str, object]]:
    """Return the diagnostics in order as data, for commands that print more than these."""
    return [_json_item(diagnostic) for diagnostic in sort_diagnostics(diagnostics)]


def _json_item(diagnostic: Diagnostic) -> dict[str, object]:
    source, fix = diagnostic.source, diagnostic.fix
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": display_text(diagnostic.headline),
        "file": source.path,
        **_span_data(source, diagnostic.span),
        "help": display_text(diagnostic.help),
        "note": display_text(diagnostic.note),
        "labels": [
            {**_span_data(source, label.span), "text": display_text(label.text)}
            for label in diagnostic.labels
        ],
        "fix": None if fix is None else {**_span_data(source, fix.span), "text": fix.text},
    }


def _span_data(source: SourceFile, span: Span) -> dict[str, int]:
    start, end = source.position(span.start), source.position(span.end)
    return {
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
    }


_COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}

# Escapes of workflow commands. They are applied in order, so `%` must be first.
_IN_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = {**_IN_MESSAGE, ":": "%3A", ",": "%2C"}


def render_github(diagnostics: Sequence[Diagnostic]) -> str:
    """Print one line for each diagnostic."""
    return "".join(_github_line(diagnostic) + "\n" for diagnostic in sort_diagnostics(diagnostics))


def _github_line(diagnostic: Diagnostic) -> str:
    start = diagnostic.source.position(diagnostic.span.start)
    end = diagnostic.source.position(diagnostic.span.end)
    properties = {
        "file": display_text(diagnostic.source.path),
        "line": str(start.line),
        "col": str(start.column),
        "endLine": str(end.line),
        "endColumn": str(end.column),
        "title": display_text(diagnostic.code),
    }
    listed = ",".join(f"{key}={_escape(value, _IN_PROPERTY)}" for key, value in properties.items())
    message = _escape(_github_message(diagnostic), _IN_MESSAGE)
    return f"::{_COMMAND[diagnostic.severity]} {listed}::{message}"


def _github_message(diagnostic: Diagnostic) -> str:
    lines = [display_text(diagnostic.headline)]
    if diagnostic.note:
        lines.append(f"note: {display_text(diagnostic.note)}")
    if diagnostic.help:
        lines.append(f"help: {display_text(diagnostic.help)}")
    return "\n".join(lines)


def _escape(text: str, escapes: dict[str, str]) -> str:
    for char, escape in escapes.items():
        text = text.replace(char, escape)
    return text


@cache
def all_codes() -> dict[str, Code]:
    """Return every code that Bylaw can report, sorted by name."""
    found = [
        value
        for module in iter_modules(codes.__path__, f"{codes.__name__}.")
        for value in vars(import_module(module.name)).values()
        if isinstance(value, Code)
    ]
    return {code.name: code for code in sorted(found, key=lambda code: code.name)}


SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}

Data = dict[str, object]


def render_sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """Print a SARIF log with one run."""
    ordered = sort_diagnostics(diagnostics)
    names = sorted({diagnostic.code for diagnostic in ordered})
    driver = {"name": "bylaw", "version": __version__, "rules": [_rule(name) for name in names]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "results": [_result(diagnostic, names) for diagnostic in ordered],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    text = json.dumps(log, ensure_ascii=False, indent=2)
    return "".join(visible_in_json(line) + "\n" for line in text.split("\n"))


def _rule(name: str) -> Data:
    rule: Data = {"id": display_text(name)}
    code = all_codes().get(name)
    if code is not None:
        rule["shortDescription"] = {"text": code.summary}
        rule["fullDescription"] = {"text": code.why}
        rule["help"] = {"text": code.fix}
    return rule


def _result(diagnostic: Diagnostic, names: list[str]) -> Data:
    source = diagnostic.source
    result: Data = {
        "ruleId": display_text(diagnostic.code),
        "ruleIndex": names.index(diagnostic.code),
        "level": _LEVEL[diagnostic.severity],
        "message": {"text": _sarif_message(diagnostic)},
        "locations": [_location(source, diagnostic.span)],
    }
    if diagnostic.labels:
        result["relatedLocations"] = [
            {
                "id": number,
                **_location(source, label.span),
                "message": {"text": display_text(label.text)},
            }
            for number, label in enumerate(diagnostic.labels, 1)
        ]
    if diagnostic.fix is not None:
        result["fixes"] = [_fix(diagnostic, diagnostic.fix)]
    return result


def _sarif_message(diagnostic: Diagnostic) -> str:
    parts = [diagnostic.headline, diagnostic.note, diagnostic.help]
    return "; ".join(display_text(part) for part in parts if part)


def _location(source: SourceFile, span: Span) -> Data:
    place = {"artifactLocation": _artifact(source), "region": _region(source, span)}
    return {"physicalLocation": place}


def _artifact(source: SourceFile) -> Data:
    path = _path_bytes(source.path)
    return {"uri": ("file://" if path.startswith(b"/") else "") + quote(path)}


def _path_bytes(path: str) -> bytes:
    try:
        return path.encode("utf-8", "surrogateescape")  # the name has bytes that are not UTF-8
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")


def _region(source: SourceFile, span: Span) -> Data:
    return {
        "startLine": source.position(span.start).line,
        "startColumn": source.utf16_column(span.start) + 1,
        "endLine": source.position(span.end).line,
        "endColumn": source.utf16_column(span.end) + 1,
    }


def _fix(diagnostic: Diagnostic, fix: Fix) -> Data:
    replacement = {
        "deletedRegion": _region(diagnostic.source, fix.span),
        "insertedContent": {"text": fix.text},
    }
    change = {"artifactLocation": _artifact(diagnostic.source), "replacements": [replacement]}
    return {
        "description": {"text": display_text(diagnostic.help or "replace the marked text")},
        "artifactChanges": [change],
    }
