"""Print the results of `bylaw rules` as text or as data for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.visible import columns
from bylaw.tools.printers.paint import Paint, Style
from bylaw.tools.printers.table import aligned, fitted
from bylaw.tools.printers.wording import number_of, shown
from bylaw.tools.rules import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bylaw.model.rule import Rule
    from bylaw.tools.rules import BrokenFile, ListedRule, Listing, ShownRule, Switched

HEADINGS = ("rule", "language", "on", "priority", "state", "place")
# Long ids and kinds are cut at their end, places at their start.
_ENDS, _STARTS = (0, 2), (5,)
_LEAST = 40  # columns, even on a narrower screen
MAX_LINES = 200  # of a rule's text: a rule may precede a long conversation

_NO_NEWS = {
    State.ON: "is already enabled",
    State.CORE: "is a core rule: it is always enabled",
    State.OFF_IN_FILE: "is already disabled in its file",
    State.SWITCHED_OFF: "is already disabled",
}


def listing_as_data(listing: Listing) -> list[dict[str, object]]:
    """Return one object for each rule."""
    return [_as_data(one) for one in listing.rules]


def shown_as_data(found: ShownRule) -> dict[str, object]:
    """Return the object of a rule, with its text and the time at which it was disabled."""
    text = "\n".join(found.lines)
    return {**_as_data(found.listed), "since": found.listed.since, "text": text}


def switched_as_data(switched: Switched) -> dict[str, object]:
    """Return the result of enabling or disabling a rule."""
    return {"uid": switched.uid, "state": switched.state.value, "changed": switched.changed}


def _as_data(one: ListedRule) -> dict[str, object]:
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
        "switched": one.switched,
        "about": dict(rule.parts[0].about),
    }


def render_listing(listing: Listing, *, limit: int, color: bool = False) -> str:
    """Print a table that fits the width, and a summary line."""
    table = _table(listing, limit, color=color) if listing.rules or listing.broken else []
    return "".join(f"{line}\n" for line in [*table, _summary(listing)])


def _table(listing: Listing, limit: int, *, color: bool) -> list[str]:
    rows = [HEADINGS, *map(_row, listing.rules), *map(_broken_row, listing.broken)]
    lines = aligned(fitted(rows, max(limit, _LEAST), _ENDS, _STARTS))
    styles = [Style.STRONG, *(Style.FAINT if one.is_off else Style.PLAIN for one in listing.rules)]
    styles += [Style.BAD] * len(listing.broken)
    return [*map(Paint(color), styles, lines), ""]


def _row(one: ListedRule) -> tuple[str, ...]:
    rule = one.rule
    kinds = ", ".join(kind.value for kind in rule.kinds)
    priority = str(rule.parts[0].priority)
    return (
        shown(rule.id), shown(rule.dialect), kinds, priority, one.state.value, shown(rule.place),
    )  # fmt: skip


def _broken_row(one: BrokenFile) -> tuple[str, ...]:
    return ("", shown(one.dialect), "", "", "broken", shown(f"{one.path}:{one.line}"))


def _summary(listing: Listing) -> str:
    off, broken = sum(one.is_off for one in listing.rules), len(listing.broken)
    refused = f", {number_of(broken, 'file')} broken" if broken else ""
    return f"{number_of(len(listing.rules), 'rule')}, {off:,} off{refused}"


def render_gone(listing: Listing) -> str:
    """Print a note for each disabled rule that does not exist."""
    return "".join(
        f"note: the disabled rule `{shown(uid)}` does not exist;"
        f" `bylaw rules enable {shown(uid)}` removes the entry\n"
        for uid in listing.gone
    )


def render_shown(found: ShownRule, *, color: bool = False) -> str:
    """Print the properties of a rule, then its text with line numbers."""
    title = Paint(color)(Style.STRONG, shown(found.listed.rule.id))
    facts = aligned([(f"  {name}", shown(value)) for name, value in _facts(found.listed)])
    return "".join(f"{line}\n" for line in [title, *facts, "", *_numbered(found)])


def _facts(one: ListedRule) -> Iterator[tuple[str, str]]:
    rule, first = one.rule, one.rule.parts[0]
    yield "uid", rule.uid
    yield "language", rule.dialect
    yield "place", f"{rule.place}:{rule.origin.column}"
    yield "on", ", ".join(kind.value for kind in rule.kinds)
    yield from _lists(first, rule.status)
    yield "priority", str(first.priority)
    since = f" since {one.since}" if one.switched else ""
    yield "state", f"{one.state.value}{since}"
    yield from first.about.items()


def _lists(rule: Rule, status: Sequence[str]) -> Iterator[tuple[str, str]]:
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


def _numbered(found: ShownRule) -> Iterator[str]:
    shown_lines = found.lines[:MAX_LINES]
    gutter = len(str(found.line + len(shown_lines) - 1))
    for number, line in enumerate(shown_lines, found.line):
        yield f" {number:>{gutter}} | {columns(line)[0]}".rstrip()
    if len(found.lines) > MAX_LINES:
        yield f" {'':{gutter}} | … {number_of(len(found.lines) - MAX_LINES, 'more line')}"


def render_switched(switched: Switched) -> str:
    """Print the result as one sentence."""
    name = f"`{shown(switched.id)}`"
    if switched.state is State.GONE:
        return f"{name} is removed from the disabled rules; no rule has this name\n"
    if switched.changed:
        return f"{name} is {'disabled' if switched.state is State.SWITCHED_OFF else 'enabled'}\n"
    return f"{name} {_NO_NEWS[switched.state]}\n"
