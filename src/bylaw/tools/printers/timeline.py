"""Print journal records as lines, or as data for JSON.

    ` seq  time      session  kind         verdict  what`

Caused records are indented. Reasons and immediate changes are on lines below their record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from bylaw.model.event import EffectDone
from bylaw.model.iso_time import iso_time
from bylaw.model.uid import id_of
from bylaw.model.verdict import Verdict
from bylaw.model.visible import width
from bylaw.model.vocabulary import Kind
from bylaw.tools.printers.events import effect_words, event_words, step_words
from bylaw.tools.printers.moments import local_clock, local_day, local_time
from bylaw.tools.printers.paint import Paint, Style
from bylaw.tools.printers.table import aligned, cut
from bylaw.tools.printers.wording import MAX_WORDS, number_of, shown, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bylaw.model.decision import Decision
    from bylaw.model.event import Event
    from bylaw.runtime.journal.reading import Record, Stored
    from bylaw.tools.timeline import Entry, Scale, SessionCount

LEAST = 40  # columns without the column of sessions, even on a narrower screen
MAX_SESSION = 16  # columns of a session's name
MAX_INDENT = 2  # levels; deeper chains are rare, and the line names the rule anyway
MAX_REASON_LINES = 4
KIND = 14  # columns: the longest kind at the deepest level
VERDICT = 5
MIN_SEQ = 4
GAP = "  "
# No rule fires on these kinds, so their verdict `allow` is not shown.
_NEVER_DECIDED = frozenset({Kind.EFFECT, Kind.HISTORY, Kind.APPROVAL, Kind.RULES})
_STYLES = {
    Verdict.WARN.value: Style.WARNING,
    Verdict.ASK.value: Style.WARNING,
    Verdict.DENY.value: Style.BAD,
    Verdict.HALT.value: Style.BAD,
}


def as_data(stored: Stored) -> dict[str, object]:
    """Return the object of a record."""
    header, record = stored.header, stored.record
    return {
        "seq": header.seq,
        "session": header.session,
        "at": header.at,
        "time": iso_time(header.at),
        "kind": header.kind,
        "verdict": header.verdict,
        "event": None if record is None else msgspec.to_builtins(record.event),
        "decision": None if record is None else msgspec.to_builtins(record.decision),
        "rules": header.rules.hex(),
        "version": header.version,
        "redacted": header.redacted,
        "erased": stored.lost == "erased",
        "damaged": stored.lost == "damaged",
    }


def session_as_data(one: SessionCount) -> dict[str, object]:
    """Return the object of a session."""
    return {
        "session": one.session,
        "records": one.records,
        "denied": one.denied,
        "first": iso_time(one.first_at),
        "last": iso_time(one.last_at),
    }


def render_sessions(counts: Iterable[SessionCount]) -> str:
    """Print a table of all sessions."""
    rows = [("session", "records", "denied", "first", "last")]
    rows += [
        (shown(one.session), f"{one.records:,}", f"{one.denied:,}",
         local_time(one.first_at), local_time(one.last_at))
        for one in counts
    ]  # fmt: skip
    return "".join(f"{line}\n" for line in [*aligned(rows), "", _sum_of(len(rows) - 1)])


def _sum_of(sessions: int) -> str:
    return number_of(sessions, "session")


class Lines(Struct):
    """Prints entries one by one. The day is printed when it changes."""

    limit: int
    paint: Paint
    seq: int
    # 0 if all records are of one session: then there is no column for it.
    session: int
    _day: str = field(default="")

    @classmethod
    def of(cls, scale: Scale, limit: int, *, color: bool, one_session: bool) -> Lines:
        """Choose column widths that fit the journal as it is now."""
        hidden = one_session or scale.sessions == 1
        session = 0 if hidden else min(scale.longest_session, MAX_SESSION)
        digits = max(len(str(scale.newest)), MIN_SEQ)
        least = LEAST + (session + len(GAP) if session else 0)
        return cls(max(limit, least), Paint(color), digits, session)

    def render(self, entry: Entry) -> str:
        """Print the lines of a record, after a line with the day if that is new."""
        return "".join(f"{line}\n" for line in self._lines(entry))

    def _lines(self, entry: Entry) -> Iterator[str]:
        day = local_day(entry.stored.header.at)
        if day != self._day:
            yield self.paint(Style.STRONG, day)
        self._day = day
        yield self._head(entry)
        if entry.stored.record is not None:
            yield from self._below(entry, entry.stored.record)

    def _head(self, entry: Entry) -> str:
        header = entry.stored.header
        kind = f"{' ' * (min(entry.depth, MAX_INDENT) - 1)}└ " if entry.depth else ""
        kind = cut(kind + shown(header.kind), KIND)
        cells = [f"{header.seq:>{self.seq}}", local_clock(header.at)]
        if self.session:
            cells.append(_padded(cut(shown(header.session), self.session), self.session))
        cells.append(_padded(kind, KIND))
        verdict = self._verdict(entry.stored)
        cells.append(self.paint(_STYLES.get(verdict, Style.PLAIN), f"{verdict:<{VERDICT}}"))
        room = self.limit - self._indent - KIND - VERDICT - 2 * len(GAP)
        cells.append(cut(shown(_words(entry)), room))
        return GAP.join(cells).rstrip()

    @property
    def _indent(self) -> int:
        """The column at which the kind begins."""
        session = self.session + len(GAP) if self.session else 0
        return self.seq + len(GAP) + 8 + len(GAP) + session

    def _verdict(self, stored: Stored) -> str:
        verdict = stored.header.verdict
        quiet = verdict == Verdict.ALLOW.value and stored.header.kind in _NEVER_DECIDED
        return "" if quiet else shown(verdict)

    def _below(self, entry: Entry, record: Record) -> Iterator[str]:
        for reason in record.decision.reasons:
            place = f"{reason.file}:{reason.line}" if reason.file else ""
            style = _STYLES.get(reason.verdict.value, Style.PLAIN)
            words = _of_rule(reason.rule, place, reason.text)
            yield from self._sub_lines(reason.verdict.value, words, style)
        for change in entry.changed:
            place, words = entry.places.get(change.uid, ""), step_words(change.step)
            yield from self._sub_lines(change.step.op, _of_rule(change.rule, place, words))
        for uid, (rule, ops) in _plans(entry, record.decision).items():
            place, words = entry.places[uid], ", ".join(dict.fromkeys(ops))
            yield from self._sub_lines("plan", _of_rule(rule, place, words))
        for line in record.decision.trace:
            if line.result.value != "fired" and line.detail:
                name, place = id_of(line.uid), entry.places.get(line.uid, "")
                yield from self._sub_lines(line.result.value, _of_rule(name, place, line.detail))
        if entry.plans is not None:
            yield from self._sub_lines("!", f"its steps are {entry.plans}", Style.WARNING)

    def _sub_lines(self, mark: str, words: str, style: Style = Style.FAINT) -> Iterator[str]:
        indent = " " * (self._indent + 2)
        line = " ".join(f"{mark} {words}"[:MAX_WORDS].split())
        first, *rest = wrapped(shown(line), self.limit - len(indent) - 2, MAX_REASON_LINES)
        if first.startswith(mark):
            first = self.paint(style, mark) + first[len(mark) :]
        yield indent + first
        yield from (f"{indent}  {line}" for line in rest)


def _words(entry: Entry) -> str:
    stored = entry.stored
    if stored.record is None:
        return f"[payload {stored.lost}]"
    event = stored.record.event
    if isinstance(event, EffectDone):
        return _outcome(event, entry)
    return event_words(event) + _by(event)


def _outcome(effect: EffectDone, entry: Entry) -> str:
    return f"{effect_words(effect, entry.step)} (step {effect.step} of {effect.of})"


def _of_rule(rule: str, place: str, words: str) -> str:
    return f"{rule} ({place}): {words}" if place else f"{rule}: {words}"


def _plans(entry: Entry, decision: Decision) -> dict[str, tuple[str, list[str]]]:
    """Return the pending steps by rule, for rules with a place that are not printed yet."""
    named = {one.uid for one in decision.reasons} | {one.uid for one in entry.changed}
    found: dict[str, tuple[str, list[str]]] = {}
    for plan in decision.plans:
        if plan.steps and plan.uid in entry.places and plan.uid not in named:
            _, ops = found.setdefault(plan.uid, (plan.rule, []))
            ops.extend(step.op for step in plan.steps)
    return found


def _by(event: Event) -> str:
    """Name the rule that caused the event directly."""
    return f" (by {event.cause[-1].rpartition('#')[2]})" if event.cause else ""


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))
