"""Print diagnostics as JSON. Lines and columns count from 1, columns are characters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bylaw.model.diagnostic import Diagnostic, in_order
from bylaw.model.visible import visible_in_json
from bylaw.tools.printers.wording import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.model.source import SourceFile, Span


def render(diagnostics: Sequence[Diagnostic]) -> str:
    """Print one line: an object whose `diagnostics` are the diagnostics in order."""
    data = {"diagnostics": as_data(diagnostics)}
    return visible_in_json(json.dumps(data, ensure_ascii=False, separators=(",", ":"))) + "\n"


def as_data(diagnostics: Sequence[Diagnostic]) -> list[dict[str, object]]:
    """Return the diagnostics in order as data, for commands that print more than these."""
    return [_one(diagnostic) for diagnostic in in_order(diagnostics)]


def _one(diagnostic: Diagnostic) -> dict[str, object]:
    source, fix = diagnostic.source, diagnostic.fix
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": shown(diagnostic.headline),
        "file": source.path,
        **_place(source, diagnostic.span),
        "help": shown(diagnostic.help),
        "note": shown(diagnostic.note),
        "labels": [
            {**_place(source, label.span), "text": shown(label.text)} for label in diagnostic.labels
        ],
        "fix": None if fix is None else {**_place(source, fix.span), "text": fix.text},
    }


def _place(source: SourceFile, span: Span) -> dict[str, int]:
    start, end = source.position(span.start), source.position(span.end)
    return {
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
    }
