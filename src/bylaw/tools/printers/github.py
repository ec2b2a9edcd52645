"""Print diagnostics as workflow commands. GitHub shows them as annotations of the lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.diagnostic import Diagnostic, Severity, in_order
from bylaw.tools.printers.wording import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}

# Escapes of workflow commands. They are applied in order, so `%` must be first.
_IN_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = {**_IN_MESSAGE, ":": "%3A", ",": "%2C"}


def render(diagnostics: Sequence[Diagnostic]) -> str:
    """Print one line for each diagnostic."""
    return "".join(_one(diagnostic) + "\n" for diagnostic in in_order(diagnostics))


def _one(diagnostic: Diagnostic) -> str:
    start = diagnostic.source.position(diagnostic.span.start)
    end = diagnostic.source.position(diagnostic.span.end)
    properties = {
        "file": shown(diagnostic.source.path),
        "line": str(start.line),
        "col": str(start.column),
        "endLine": str(end.line),
        "endColumn": str(end.column),
        "title": shown(diagnostic.code),
    }
    listed = ",".join(f"{key}={_escaped(value, _IN_PROPERTY)}" for key, value in properties.items())
    return (
        f"::{_COMMAND[diagnostic.severity]} {listed}::{_escaped(_message(diagnostic), _IN_MESSAGE)}"
    )


def _message(diagnostic: Diagnostic) -> str:
    lines = [shown(diagnostic.headline)]
    if diagnostic.note:
        lines.append(f"note: {shown(diagnostic.note)}")
    if diagnostic.help:
        lines.append(f"help: {shown(diagnostic.help)}")
    return "\n".join(lines)


def _escaped(text: str, escapes: dict[str, str]) -> str:
    for char, escape in escapes.items():
        text = text.replace(char, escape)
    return text
