"""Print what a root asks for, for the person who decides about trust, or as data for JSON.

Nothing is cut: an omitted part could be the important one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bylaw.model.visible import visible, visible_in_json
from bylaw.tools.printers.table import aligned

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bylaw.runtime.trust import TrustChanges
    from bylaw.runtime.trust_record import StartRecord
    from bylaw.tools.trust import TrustReport

_INDENT = "  "
_SCRIPTS = "scripts of the repository, in their present version, without what they start in turn:"
_DIGITS = 12


def as_data(report: TrustReport) -> dict[str, object]:
    """Return the report as data for JSON."""
    request, changes = report.request, report.changes
    return {
        "root": report.root,
        "trusted": report.trust.suffices,
        "state": report.trust.state.value,
        "why": report.trust.why,
        "since": report.since or None,
        "starts": _starts_as_data(request.starts),
        "scripts": dict(request.scripts),
        "settings": request.settings,
        "changes": None if changes is None else _changes_as_data(changes),
    }


def render(report: TrustReport) -> str:
    """Print everything that rules can start, the settings, and the changes."""
    request = report.request
    parts = [
        _part("can be started:", _starts(request.starts)),
        _part(_SCRIPTS, _scripts(request.scripts)),
        _part("settings that are not the defaults:", _settings(request.settings)),
        _part("changed since it was trusted:", _changes(report.changes)),
    ]
    return "\n".join(part for part in parts if part)


def _part(heading: str, lines: Iterable[str]) -> str:
    told = [f"{_INDENT}{line}\n" for line in lines]
    return "".join([f"{heading}\n", *told]) if told else ""


def _starts(starts: Iterable[StartRecord]) -> list[str]:
    rows = [_row(start) for start in starts]
    return aligned(rows) if rows else []


def _scripts(scripts: Mapping[str, str]) -> list[str]:
    rows = [(path, digest[:_DIGITS] or "missing") for path, digest in sorted(scripts.items())]
    return aligned(rows) if rows else []


def _row(start: StartRecord) -> tuple[str, ...]:
    return start.what, start.uid, start.name


def _settings(settings: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    for table, values in settings.items():
        for key, value in values.items():
            written = visible_in_json(json.dumps(value, ensure_ascii=False))
            yield f"[{table}] {key} = {written}"


def _changes(changes: TrustChanges | None) -> list[str]:
    if changes is None:
        return []
    rows = [
        *(("+", *_row(start)) for start in changes.new),
        *(("-", *_row(start)) for start in changes.gone),
        *(("~", "book", name, "") for name in changes.books),
        *(("~", "script", name, "") for name in changes.scripts),
        *(("~", "setting", name, "") for name in changes.settings),
    ]
    return aligned(rows) if rows else []


def _starts_as_data(starts: Iterable[StartRecord]) -> list[dict[str, str]]:
    return [{"what": one.what, "name": one.name, "rule": one.uid} for one in starts]


def _changes_as_data(changes: TrustChanges) -> dict[str, object]:
    return {
        "new": _starts_as_data(changes.new),
        "gone": _starts_as_data(changes.gone),
        "books": list(changes.books),
        "scripts": list(changes.scripts),
        "settings": list(changes.settings),
    }


def question(report: TrustReport) -> str:
    """Return the prompt for the person."""
    return f"Trust {visible(report.root)} with this? [y/N] "
