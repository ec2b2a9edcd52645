"""Print diagnostics as SARIF 2.1.0, the format of code scanners. Columns are UTF-16 units."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import quote

from bylaw.model.diagnostic import Diagnostic, Fix, Severity, in_order
from bylaw.model.visible import visible_in_json
from bylaw.tools.codes import all_codes
from bylaw.tools.printers.wording import shown
from bylaw.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.source import SourceFile, Span

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}

Data = dict[str, object]


def render(diagnostics: Sequence[Diagnostic]) -> str:
    """Print a SARIF log with one run."""
    ordered = in_order(diagnostics)
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
    rule: Data = {"id": shown(name)}
    code = all_codes().get(name)
    if code is not None:
        rule["shortDescription"] = {"text": code.summary}
        rule["fullDescription"] = {"text": code.why}
        rule["help"] = {"text": code.fix}
    return rule


def _result(diagnostic: Diagnostic, names: list[str]) -> Data:
    source = diagnostic.source
    result: Data = {
        "ruleId": shown(diagnostic.code),
        "ruleIndex": names.index(diagnostic.code),
        "level": _LEVEL[diagnostic.severity],
        "message": {"text": _message(diagnostic)},
        "locations": [_location(source, diagnostic.span)],
    }
    if diagnostic.labels:
        result["relatedLocations"] = [
            {"id": number, **_location(source, label.span), "message": {"text": shown(label.text)}}
            for number, label in enumerate(diagnostic.labels, 1)
        ]
    if diagnostic.fix is not None:
        result["fixes"] = [_fix(diagnostic, diagnostic.fix)]
    return result


def _message(diagnostic: Diagnostic) -> str:
    parts = [diagnostic.headline, diagnostic.note, diagnostic.help]
    return "; ".join(shown(part) for part in parts if part)


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
        "description": {"text": shown(diagnostic.help or "replace the marked text")},
        "artifactChanges": [change],
    }
