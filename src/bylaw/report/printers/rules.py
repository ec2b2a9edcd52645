"""Print the results of `bylaw check`, `bylaw rules` and `bylaw trust`, as text or as data for JSON.

The trust report is never cut: an omitted part could be the important one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bylaw.model import diagnostic_text
from bylaw.model.diagnostic import Severity
from bylaw.model.display import columns, display_text, number_of, visible, visible_in_json
from bylaw.model.paint import Paint, Style
from bylaw.report.check import installed_languages
from bylaw.report.printers import formats
from bylaw.report.printers.layout import align, align_or_wrap, fit
from bylaw.report.rules import RuleState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bylaw.model.rule import Rule
    from bylaw.report.check import BookReport, CheckReport
    from bylaw.report.rules import (
        BrokenFile,
        ListedRule,
        RuleList,
        ShownRule,
        SwitchResult,
        TrustReport,
    )
    from bylaw.runtime.trust import TrustChanges
    from bylaw.store.trust import StartRecord

RULES_HEADINGS = ("rule", "language", "on", "priority", "state", "place")
# Long ids and kinds are cut at their end, places at their start.
_ENDS, _STARTS = (0, 2), (5,)
_MIN_RULES_WIDTH = 40  # columns, even on a narrower screen
MAX_LINES = 200  # of a rule's text: a rule may precede a long conversation

_UNCHANGED_WORDS = {
    RuleState.ON: "is already enabled",
    RuleState.CORE: "is a core rule: it is always enabled",
    RuleState.OFF_IN_FILE: "is already disabled in its file",
    RuleState.SWITCHED_OFF: "is already disabled",
}


def rule_list_data(listing: RuleList) -> list[dict[str, object]]:
    """Return one object for each rule."""
    return [_rule_data(one) for one in listing.rules]


def shown_rule_data(found: ShownRule) -> dict[str, object]:
    """Return the object of a rule, with its text and the time at which it was disabled."""
    text = "\n".join(found.lines)
    return {**_rule_data(found.listed), "since": found.listed.since, "text": text}


def switch_result_data(switched: SwitchResult) -> dict[str, object]:
    """Return the result of enabling or disabling a rule."""
    return {"uid": switched.uid, "state": switched.state.value, "changed": switched.changed}


def _rule_data(one: ListedRule) -> dict[str, object]:
    rule, origin = one.rule, one.rule.origin
    return {
        "uid": rule.uid,
        "id": rule.id,
        "dialect": rule.dialect,
        "file": origin.file,
        "line": origin.line,
        "column": origin.column,
        "on": [kind.value for kind in rule.kinds],
        "status": [status.value for status in rule.status],
        "priority": rule.parts[0].priority,
        "enabled": rule.enabled,
        "core": rule.core,
        "switched": one.is_disabled_by_command,
        "about": dict(rule.parts[0].about),
    }


def render_rule_list(listing: RuleList, *, limit: int, color: bool = False) -> str:
    """Print a table that fits the width, and a summary line."""
    table = _table(listing, limit, color=color) if listing.rules or listing.broken else []
    return "".join(f"{line}\n" for line in [*table, _rules_summary(listing)])


def _table(listing: RuleList, limit: int, *, color: bool) -> list[str]:
    rows = [RULES_HEADINGS, *map(_rule_row, listing.rules), *map(_broken_row, listing.broken)]
    lines = align(fit(rows, max(limit, _MIN_RULES_WIDTH), _ENDS, _STARTS))
    styles = [Style.STRONG, *(Style.FAINT if one.is_off else Style.PLAIN for one in listing.rules)]
    styles += [Style.BAD] * len(listing.broken)
    return [*map(Paint(color), styles, lines), ""]


def _rule_row(one: ListedRule) -> tuple[str, ...]:
    rule = one.rule
    kinds = ", ".join(kind.value for kind in rule.kinds)
    priority = str(rule.parts[0].priority)
    return (
        display_text(rule.id), display_text(rule.dialect), kinds, priority, one.state.value,
        display_text(rule.place),
    )  # fmt: skip


def _broken_row(one: BrokenFile) -> tuple[str, ...]:
    return ("", display_text(one.dialect), "", "", "broken", display_text(f"{one.path}:{one.line}"))


def _rules_summary(listing: RuleList) -> str:
    off, broken = sum(one.is_off for one in listing.rules), len(listing.broken)
    refused = f", {number_of(broken, 'file')} broken" if broken else ""
    return f"{number_of(len(listing.rules), 'rule')}, {off:,} off{refused}"


def render_unknown_disabled(listing: RuleList) -> str:
    """Print a note for each disabled rule that does not exist."""
    return "".join(
        f"note: the disabled rule `{display_text(uid)}` does not exist;"
        f" `bylaw rules enable {display_text(uid)}` removes the entry\n"
        for uid in listing.gone
    )


def render_rule(found: ShownRule, *, color: bool = False) -> str:
    """Print the properties of a rule, then its text with line numbers."""
    title = Paint(color)(Style.STRONG, display_text(found.listed.rule.id))
    facts = align([(f"  {name}", display_text(value)) for name, value in _properties(found.listed)])
    return "".join(f"{line}\n" for line in [title, *facts, "", *_numbered_lines(found)])


def _properties(one: ListedRule) -> Iterator[tuple[str, str]]:
    rule, first = one.rule, one.rule.parts[0]
    yield "uid", rule.uid
    yield "language", rule.dialect
    yield "place", f"{rule.place}:{rule.origin.column}"
    yield "on", ", ".join(kind.value for kind in rule.kinds)
    yield from _filters(first, rule.status)
    yield "priority", str(first.priority)
    since = f" since {one.since}" if one.is_disabled_by_command else ""
    yield "state", f"{one.state.value}{since}"
    yield from first.about.items()


def _filters(rule: Rule, status: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the filters that are set."""
    named = {
        "status": status,
        "tools": rule.filter.tools,
        "paths": rule.filter.paths,
        "changes": rule.filter.changes,
        "commands": rule.filter.command_types,
    }
    for name, values in named.items():
        if values:
            yield name, ", ".join(values)


def _numbered_lines(found: ShownRule) -> Iterator[str]:
    shown_lines = found.lines[:MAX_LINES]
    gutter = len(str(found.line + len(shown_lines) - 1))
    for number, line in enumerate(shown_lines, found.line):
        yield f" {number:>{gutter}} | {columns(line)[0]}".rstrip()
    if len(found.lines) > MAX_LINES:
        yield f" {'':{gutter}} | … {number_of(len(found.lines) - MAX_LINES, 'more line')}"


def render_switch_result(switched: SwitchResult) -> str:
    """Print the result as one sentence."""
    name = f"`{display_text(switched.id)}`"
    if switched.state is RuleState.GONE:
        return f"{name} is removed from the disabled rules; no rule has this name\n"
    if switched.changed:
        return (
            f"{name} is {'disabled' if switched.state is RuleState.SWITCHED_OFF else 'enabled'}\n"
        )
    return f"{name} {_UNCHANGED_WORDS[switched.state]}\n"


_INDENT = "  "
_SCRIPTS = "scripts of the repository, in their present version, without what they start in turn:"
_DIGITS = 12


def trust_data(report: TrustReport) -> dict[str, object]:
    """Return the report as data for JSON."""
    request, changes = report.request, report.changes
    return {
        "root": report.root,
        "trusted": report.trust.is_sufficient,
        "state": report.trust.state.value,
        "why": report.trust.why,
        "since": report.since or None,
        "starts": _starts_as_data(request.starts),
        "scripts": dict(request.scripts),
        "settings": request.settings,
        "changes": None if changes is None else _changes_as_data(changes),
    }


def render_trust(report: TrustReport) -> str:
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
    rows = [_start_row(start) for start in starts]
    return align(rows) if rows else []


def _scripts(scripts: Mapping[str, str]) -> list[str]:
    rows = [(path, digest[:_DIGITS] or "missing") for path, digest in sorted(scripts.items())]
    return align(rows) if rows else []


def _start_row(start: StartRecord) -> tuple[str, ...]:
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
        *(("+", *_start_row(start)) for start in changes.new),
        *(("-", *_start_row(start)) for start in changes.gone),
        *(("~", "book", name, "") for name in changes.books),
        *(("~", "script", name, "") for name in changes.scripts),
        *(("~", "setting", name, "") for name in changes.settings),
    ]
    return align(rows) if rows else []


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


def trust_question(report: TrustReport) -> str:
    """Return the prompt for the person."""
    return f"Trust {visible(report.root)} with this? [y/N] "


CHECK_HEADINGS = ("book", "language", "rules", "files", "trust", "found by")


def check_data(report: CheckReport) -> dict[str, object]:
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
    told: dict[str, object] = {
        "books": books,
        "diagnostics": formats.diagnostics_data(report.diagnostics),
    }
    return told if books else {**told, "languages": dict(installed_languages())}


def render_check(report: CheckReport, *, limit: int, color: bool = False) -> str:
    """Print the books within a width, the diagnostics, and a summary line."""
    rows = [CHECK_HEADINGS, *map(_book_row, report.books)]
    books = _joined_lines(align_or_wrap(rows, limit)) if report.books else _empty_report(report)
    findings = diagnostic_text.render(report.diagnostics, color=color)
    return "\n".join(part for part in (books, findings, _check_summary(report)) if part)


def _book_row(book: BookReport) -> tuple[str, ...]:
    needed = "given" if book.trusted else "not given"
    trust = needed if book.can_start else "not needed"
    return (
        display_text(book.name), display_text(book.dialect), str(book.rules), str(book.files),
        trust, display_text(book.why),
    )  # fmt: skip


def _empty_report(report: CheckReport) -> str:
    if report.diagnostics:
        return ""
    places = [(f"  {place.pattern}", place.dialect) for place in report.places]
    spoken = [
        (f"  {display_text(name)}", display_text(spec)) for name, spec in installed_languages()
    ]
    return "\n".join(
        [
            f"no rule files in {display_text(report.root)}",
            "",
            *(["looked for:", _joined_lines(align(places))] if places else []),
            *(["languages:", _joined_lines(align(spoken))] if spoken else []),
            "add other files to bylaw.toml:",
            "  [[book]]",
            '  path = "prompts/main.chatmd"',
            "",
        ]
    )


def _joined_lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _check_summary(report: CheckReport) -> str:
    counted = [number_of(len(report.books), "book"), number_of(_rule_count(report), "rule")]
    found = [one.severity for one in report.diagnostics]
    for severity, word in ((Severity.ERROR, "error"), (Severity.WARNING, "warning")):
        counted.append(number_of(found.count(severity), word))
    return ", ".join(counted) + "\n"


def _rule_count(report: CheckReport) -> int:
    return sum(book.rules for book in report.books)
