"""Print the state of a bus as a table, or as data for JSON.

Texts of messages are escaped and cut, so that they cannot move the cursor or fill the screen. The
command to approve a message is never cut, because a person copies it.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from bylaw.hosts.bus.snapshot import InputState
from bylaw.model.display import display_text, display_text_once, iso_time, wrap
from bylaw.model.paint import Paint, Style
from bylaw.report.printers.layout import align, cut, fit, local_clock, local_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bylaw.hosts.bus.snapshot import (
        AuthorityStatement,
        BusReport,
        FinishedMessage,
        HeldMessage,
        MessageRow,
        OpenRequest,
        RunningMessage,
        WaitingMessage,
    )

MIN_WIDTH = 40  # columns, even on a narrower screen
_NARROW = 60  # columns; with fewer, the counts are below the name
MAX_LINES = 4  # of one reason
MAX_TEXT_LINES = 2  # of the text of a request, and of the reason of a result
_INDENT, _BELOW = "  ", "    "
_STYLES = {"failed": Style.BAD, "refused": Style.BAD}
_INPUT_WORDS = {InputState.UNFINISHED: "not finished", InputState.REFUSED: "will be refused"}
_OTHER_TEXT = " another version of this message"
_STATEMENT_WORDS = {
    "granted": "approved",
    "revoked": "rejected",
    "expired": "marked as expired",
    "unclear": "may have rejected",
}


def as_data(report: BusReport) -> dict[str, object]:
    """Return the report as data for JSON."""
    return {
        "root": report.root,
        "bus": report.bus,
        "exists": report.exists,
        "phase": report.phase,
        "phase_problem": report.phase_problem or None,
        "waiting": [
            _message_data(one.row) | {"state": one.state.value, "why": one.why or None}
            for one in report.waiting
        ],
        "held": [_held_data(one) for one in report.held],
        "requests": [_request_data(one) for one in report.requests],
        "running": [
            _message_data(one.row)
            | {"pid": one.pid or None, "since": _time_or_none(one.since), "dead": one.dead}
            for one in report.running
        ],
        "ended": [
            {
                "name": one.name,
                "state": one.state,
                "at": _time_or_none(one.at),
                "why": one.why or None,
            }
            for one in report.ended
        ],
        "counts": dict(report.counts),
        "left_out": dict(report.left_out),
    }


def _held_data(one: HeldMessage) -> dict[str, object]:
    return _message_data(one.row) | {
        "since": _time_or_none(one.since),
        "why": one.why,
        "note": one.note or None,
        "said": [asdict(said) for said in one.statements],
        "approve": approve_command(one.row.msg_id),
    }


def _request_data(one: OpenRequest) -> dict[str, object]:
    return _message_data(one.row) | {
        "about": one.about,
        "for": list(one.to),
        "text": one.text,
        "since": _time_or_none(one.since),
        "said": [asdict(said) for said in one.statements],
        "approve": approve_command(one.row.msg_id),
    }


def _message_data(letter: MessageRow) -> dict[str, object]:
    return {key: value or None for key, value in asdict(letter).items()}


def _time_or_none(at: int) -> str | None:
    return iso_time(at) if at else None


def approve_command(msg_id: str) -> str:
    """Return the command to approve a message. A valid id needs no quotes."""
    return f"bylaw approve {msg_id}"


def render(report: BusReport, columns: int, *, color: bool) -> str:
    """Print the report, with a section for each kind of message."""
    if not report.exists:
        place = f"`{display_text(report.bus)}` in `{display_text(report.root)}`"
        return f"no bus {place}; `bylaw bus run` creates it\n"
    return "".join(
        f"{line}\n" for line in _BusTable(max(columns, MIN_WIDTH), Paint(color)).lines(report)
    )


class _BusTable:
    """Builds sections of rows that fit a width."""

    def __init__(self, limit: int, paint: Paint) -> None:
        self._limit = limit
        self._paint = paint

    def lines(self, report: BusReport) -> Iterator[str]:
        yield from self._head(report)
        if report.phase is None:
            words = (
                f"the phase is unknown, so no rule runs: {display_text_once(report.phase_problem)}"
            )
            yield from self._paint_lines(Style.WARNING, self._wrapped(words, "", MAX_LINES))
        left = report.left_out
        yield from self._section("waiting in input", self._waiting(report), left["waiting"])
        yield from self._section("held", self._held(report), left["held"])
        yield from self._section("approval requests", self._requests(report), left["requests"])
        yield from self._section("running", self._running(report))
        if not (report.waiting or report.held or report.requests or report.running):
            yield from ("", "no messages are waiting or running")
        yield from self._section("finished, newest first", self._finished(report.ended))

    def _head(self, report: BusReport) -> Iterator[str]:
        """Yield one line. On a narrow screen the counts are below it."""
        counts = ", ".join(f"{number:,} {name}" for name, number in report.counts.items())
        phase = "unknown" if report.phase is None else str(report.phase)
        fits = self._limit >= _NARROW
        tail = f"  phase {phase}" + (f"  {counts}" if fits else "")
        name = cut(display_text(report.bus), max(self._limit - len(tail), 1), at_start=True)
        yield self._paint(Style.STRONG, name) + tail
        if not fits:
            yield from self._wrapped(counts, _INDENT, MAX_LINES)

    def _section(self, name: str, lines: Iterable[str], left_out: int = 0) -> Iterator[str]:
        told = list(lines)
        if left_out:
            told.append(f"{_INDENT}and {left_out:,} more; see --limit")
        if told:
            yield from ("", self._paint(Style.STRONG, name), *told)

    def _rows(
        self, rows: Sequence[tuple[str, ...]], below: Sequence[Iterable[str]]
    ) -> Iterator[str]:
        """Yield a line for each row, cut to the screen, followed by its details."""
        if not rows:
            return
        room = self._limit - len(_INDENT)
        # A name matters more than a title, but it gets at most two thirds of the line.
        named = [(cut(name, room * 2 // 3), *more) for name, *more in rows]
        for line, more in zip(align(fit(named, room, (len(rows[0]) - 1,), ())), below, strict=True):
            yield f"{_INDENT}{cut(line, room)}"
            yield from more

    def _waiting(self, report: BusReport) -> Iterator[str]:
        rows = [_row_cells(one.row) for one in report.waiting]
        return self._rows(rows, [self._waiting_details(one) for one in report.waiting])

    def _waiting_details(self, one: WaitingMessage) -> list[str]:
        if one.state is InputState.NEW:
            return []
        style = Style.BAD if one.state is InputState.REFUSED else Style.FAINT
        return self._detail_lines(style, f"{_INPUT_WORDS[one.state]}: {one.why}")

    def _held(self, report: BusReport) -> Iterator[str]:
        rows = [_row_cells(one.row) for one in report.held]
        return self._rows(rows, [self._held_details(one) for one in report.held])

    def _held_details(self, one: HeldMessage) -> list[str]:
        command = approve_command(one.row.msg_id)
        why = one.why.removeprefix("held: ").removesuffix(f"; approve it with `{command}`")
        return [
            *self._detail_lines(Style.WARNING, _with_time(one.since, why)),
            *(self._detail_lines(Style.PLAIN, one.note) if one.note else ()),
            *self._statements(one.statements),
            self._command_line(command),
        ]

    def _requests(self, report: BusReport) -> Iterator[str]:
        rows = [
            (
                display_text(one.row.msg_id),
                f"for {display_text(' or '.join(one.to))}",
                _title(one.row),
            )
            for one in report.requests
        ]
        return self._rows(rows, [self._request_details(one) for one in report.requests])

    def _request_details(self, one: OpenRequest) -> list[str]:
        text = self._detail_lines(
            Style.PLAIN, _with_time(one.since, display_text(one.text)), MAX_TEXT_LINES
        )
        way_out = self._command_line(approve_command(one.row.msg_id))
        return [*text, *self._statements(one.statements), way_out]

    def _statements(self, said: Iterable[AuthorityStatement]) -> list[str]:
        told = (
            f"{one.authority} {_STATEMENT_WORDS.get(one.state, one.state)}"
            f"{_OTHER_TEXT if one.other_text else ''} ({one.where})"
            for one in said
        )
        return [*chain.from_iterable(self._detail_lines(Style.PLAIN, one, 1) for one in told)]

    def _command_line(self, command: str) -> str:
        return _BELOW + self._paint(Style.HELP, display_text(command))

    def _running(self, report: BusReport) -> Iterator[str]:
        rows = [
            (_name(one.row), f"process {one.pid or '?'}", _since_words(one), _title(one.row))
            for one in report.running
        ]
        return self._rows(rows, [self._running_details(one) for one in report.running])

    def _running_details(self, one: RunningMessage) -> list[str]:
        if one.dead:
            words = "its process is dead; the next `bylaw bus run` recovers it"
            return self._detail_lines(Style.BAD, words)
        return [] if one.dead is False else self._detail_lines(Style.FAINT, "on another system")

    def _finished(self, ended: Sequence[FinishedMessage]) -> Iterator[str]:
        rows = [(f"{one.state:<9}  {local_time(one.at)}", display_text(one.name)) for one in ended]
        return self._rows(rows, [self._result_details(one) for one in ended])

    def _result_details(self, one: FinishedMessage) -> list[str]:
        style = _STYLES.get(one.state, Style.PLAIN)
        return self._detail_lines(style, one.why, MAX_TEXT_LINES) if one.why else []

    def _detail_lines(self, style: Style, words: str, most: int = MAX_LINES) -> list[str]:
        return [*self._paint_lines(style, self._wrapped(display_text_once(words), _BELOW, most))]

    def _wrapped(self, words: str, indent: str, most: int) -> list[str]:
        return [indent + line for line in wrap(words, self._limit - len(indent), most)]

    def _paint_lines(self, style: Style, lines: Iterable[str]) -> Iterator[str]:
        return (self._paint(style, line) for line in lines)


def _row_cells(letter: MessageRow) -> tuple[str, ...]:
    return _name(letter), display_text(letter.category), _title(letter)


def _name(letter: MessageRow) -> str:
    return display_text(letter.msg_id or letter.file)


def _title(letter: MessageRow) -> str:
    by = f" ({letter.created_by})" if letter.created_by else ""
    return display_text(letter.title + by)


def _with_time(since: int, words: str) -> str:
    since_when = f"since {local_time(since)}" if since else "new"
    return f"{since_when}: {words}" if words else since_when


def _since_words(one: RunningMessage) -> str:
    # Commands run for hours at most, so the day is not needed.
    return f"since {local_clock(one.since)}" if one.since else "just now"
