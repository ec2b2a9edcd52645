"""Print journal records as lines, or as data for JSON.

    ` seq  time      session  kind         verdict  what`

Caused records are indented. Reasons and immediate changes are on lines below their record. The
descriptions of events and steps are not escaped until they are printed.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from bylaw.model.display import (
    MAX_DISPLAY,
    clip_text,
    display_text,
    iso_time,
    number_of,
    short_json,
    width,
    wrap,
)
from bylaw.model.effects import (
    CommandRun,
    EventEmit,
    Log,
    MessageInsert,
    Notify,
    Outcome,
    StateSet,
    ToolCall,
)
from bylaw.model.event import (
    AgentStop,
    ApprovalGiven,
    Bus,
    Custom,
    EffectDone,
    File,
    HistoryChanged,
    Message,
    Prompt,
    RulesChanged,
    ToolAfter,
    ToolBefore,
    TurnEnd,
)
from bylaw.model.paint import Paint, Style
from bylaw.model.rule import id_of
from bylaw.model.vocabulary import EffectStatus, Kind, Verdict
from bylaw.report.printers.layout import align, cut, local_clock, local_day, local_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.model.decision import Decision
    from bylaw.model.effects import Step, Text
    from bylaw.model.event import Common, Event
    from bylaw.model.values import JSON
    from bylaw.report.log import ColumnWidths, LogEntry, SessionCount
    from bylaw.store.journal.records import Record, StoredRecord

MAX_EVENT_WORDS = 300  # characters on a line


def event_words(event: Event) -> str:
    """Describe an event without its kind."""
    tell = _PAYLOADS.get(type(event))
    words = [tell(event) if tell else ""]
    if event.round > 1:
        words.append(f"(round {event.round})")
    if event.agent:
        words.append(f"(agent {event.agent})")
    return clip_text(" ".join(filter(None, words)), MAX_EVENT_WORDS)


def _text_of(event: Prompt | TurnEnd | AgentStop) -> str:
    return _quote(event.text)


def _message(event: Message) -> str:
    return f"{event.role}: {_quote(event.text)}"


def _call(event: ToolBefore) -> str:
    return f"{event.tool} {_short(event.args)}"


def _call_ended(event: ToolAfter) -> str:
    result = _value_words(event.error or event.result)
    return f"{event.tool} {event.status}{_duration(event.ms)}{result}"


def _file(event: File) -> str:
    return f"{event.change} {event.path}" + (event.old_path and f" from {event.old_path}")


def _bus(event: Bus) -> str:
    return _short(event.message)


def _custom(event: Custom) -> str:
    return f"{event.type} {_short(event.payload)}"


def _effect(event: EffectDone) -> str:
    return f"{event.op} {event.status}{_duration(event.ms)}{_effect_result(event.result)}"


def effect_words(event: EffectDone, step: Step | None) -> str:
    """Describe the outcome of a step, with the step itself if it is known."""
    if step is None:
        return event_words(event)
    if event.status is not EffectStatus.OK:
        return f"{event_words(event)} {step_words(step)}"
    came = _value_words(_command_output(event.result))
    return clip_text(
        f"{event.op} ok {step_words(step)}{_duration(event.ms)}{came}", MAX_EVENT_WORDS
    )


def _history(event: HistoryChanged) -> str:
    return f"length {event.length}" + (event.why and f", {event.why}")


def _approval(event: ApprovalGiven) -> str:
    return f"{event.id} {'granted' if event.granted else 'rejected'} by {event.authority}"


def _rules(event: RulesChanged) -> str:
    named = {"enabled": event.enabled, "disabled": event.disabled}
    switches = "; ".join(f"{how} {', '.join(uids)}" for how, uids in named.items() if uids)
    return switches or f"loaded {event.digest[:12]}"


# The name of any other kind says everything.
_PAYLOADS: dict[type[Common], Callable[[Any], str]] = {
    Prompt: _text_of,
    TurnEnd: _text_of,
    AgentStop: _text_of,
    Message: _message,
    ToolBefore: _call,
    ToolAfter: _call_ended,
    File: _file,
    Bus: _bus,
    Custom: _custom,
    EffectDone: _effect,
    HistoryChanged: _history,
    ApprovalGiven: _approval,
    RulesChanged: _rules,
}


def step_words(step: Step) -> str:
    """Describe a step without its op."""
    match step:
        case MessageInsert():
            words = f"{step.role}: {_quote(text_words(step.text))}"
        case StateSet():
            words = f"{step.name} = {_short(step.value)}"
        case Notify():
            words = f"{step.deliver_at}, {step.priority}: {_quote(step.text)}"
        case Log():
            words = f"{step.level}: {_quote(step.text)}"
        case ToolCall():
            words = f"{step.tool} {_short(step.args)}"
        case EventEmit():
            words = f"{step.type} {_short(step.payload)}"
        case CommandRun():
            words = shlex.join(step.argv)
        case _:
            fields = msgspec.to_builtins(step)
            words = _short({name: fields[name] for name in fields if name != "op"})
    return clip_text(words, MAX_EVENT_WORDS)


def text_words(text: Text) -> str:
    """Return a text, with `{name}` for each reference to an outcome."""
    pieces = text if isinstance(text, tuple) else (text,)
    return "".join(
        f"{{{piece.outcome}}}" if isinstance(piece, Outcome) else piece for piece in pieces
    )


def _quote(text: str) -> str:
    return _short(" ".join(text[: 2 * MAX_EVENT_WORDS].split())) if text else ""


def _short(value: object) -> str:
    return short_json(value, MAX_EVENT_WORDS)


def _effect_result(result: JSON) -> str:
    """Describe the result of an effect. For a command: its command line and its output."""
    line = _command_line(result)
    return f": {line}{_value_words(_command_output(result))}" if line else _value_words(result)


def _command_line(result: JSON) -> str:
    argv = result.get("argv") if isinstance(result, dict) else None
    return shlex.join(map(str, argv)) if isinstance(argv, list) else ""


def _command_output(result: JSON) -> JSON:
    """Return the output or the error of a command. Other results are returned unchanged."""
    if not isinstance(result, dict) or not _command_line(result):
        return result
    error, stderr = result.get("error"), result.get("stderr")
    if not error:
        return result.get("result") or None
    return f"{error}, {stderr}" if stderr else error


def _value_words(value: JSON) -> str:
    return "" if value is None else f": {_short(value)}"


def _duration(ms: int | None) -> str:
    return f" in {ms} ms" if ms else ""


MIN_WIDTH = 40  # columns without the column of sessions, even on a narrower screen
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


def record_data(stored: StoredRecord) -> dict[str, object]:
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
        (display_text(one.session), f"{one.records:,}", f"{one.denied:,}",
         local_time(one.first_at), local_time(one.last_at))
        for one in counts
    ]  # fmt: skip
    return "".join(f"{line}\n" for line in [*align(rows), "", _session_total(len(rows) - 1)])


def _session_total(sessions: int) -> str:
    return number_of(sessions, "session")


class LogPrinter(Struct):
    """Prints entries one by one. The day is printed when it changes."""

    limit: int
    paint: Paint
    seq: int
    # 0 if all records are of one session: then there is no column for it.
    session: int
    _day: str = field(default="")

    @classmethod
    def of(cls, scale: ColumnWidths, limit: int, *, color: bool, one_session: bool) -> LogPrinter:
        """Choose column widths that fit the journal as it is now."""
        hidden = one_session or scale.sessions == 1
        session = 0 if hidden else min(scale.longest_session, MAX_SESSION)
        digits = max(len(str(scale.newest)), MIN_SEQ)
        least = MIN_WIDTH + (session + len(GAP) if session else 0)
        return cls(max(limit, least), Paint(color), digits, session)

    def render(self, entry: LogEntry) -> str:
        """Print the lines of a record, after a line with the day if that is new."""
        return "".join(f"{line}\n" for line in self._lines(entry))

    def _lines(self, entry: LogEntry) -> Iterator[str]:
        day = local_day(entry.stored.header.at)
        if day != self._day:
            yield self.paint(Style.STRONG, day)
        self._day = day
        yield self._head(entry)
        if entry.stored.record is not None:
            yield from self._below(entry, entry.stored.record)

    def _head(self, entry: LogEntry) -> str:
        header = entry.stored.header
        kind = f"{' ' * (min(entry.depth, MAX_INDENT) - 1)}└ " if entry.depth else ""
        kind = cut(kind + display_text(header.kind), KIND)
        cells = [f"{header.seq:>{self.seq}}", local_clock(header.at)]
        if self.session:
            cells.append(_pad(cut(display_text(header.session), self.session), self.session))
        cells.append(_pad(kind, KIND))
        verdict = self._verdict(entry.stored)
        cells.append(self.paint(_STYLES.get(verdict, Style.PLAIN), f"{verdict:<{VERDICT}}"))
        room = self.limit - self._indent - KIND - VERDICT - 2 * len(GAP)
        cells.append(cut(display_text(_entry_words(entry)), room))
        return GAP.join(cells).rstrip()

    @property
    def _indent(self) -> int:
        """The column at which the kind begins."""
        session = self.session + len(GAP) if self.session else 0
        return self.seq + len(GAP) + 8 + len(GAP) + session

    def _verdict(self, stored: StoredRecord) -> str:
        verdict = stored.header.verdict
        quiet = verdict == Verdict.ALLOW.value and stored.header.kind in _NEVER_DECIDED
        return "" if quiet else display_text(verdict)

    def _below(self, entry: LogEntry, record: Record) -> Iterator[str]:
        for reason in record.decision.reasons:
            place = f"{reason.file}:{reason.line}" if reason.file else ""
            style = _STYLES.get(reason.verdict.value, Style.PLAIN)
            words = _rule_words(reason.rule, place, reason.text)
            yield from self._sub_lines(reason.verdict.value, words, style)
        for change in entry.changed:
            place, words = entry.places.get(change.uid, ""), step_words(change.step)
            yield from self._sub_lines(change.step.op, _rule_words(change.rule, place, words))
        for uid, (rule, ops) in _pending_steps(entry, record.decision).items():
            place, words = entry.places[uid], ", ".join(dict.fromkeys(ops))
            yield from self._sub_lines("plan", _rule_words(rule, place, words))
        for line in record.decision.trace:
            if line.result.value != "fired" and line.detail:
                name, place = id_of(line.uid), entry.places.get(line.uid, "")
                yield from self._sub_lines(line.result.value, _rule_words(name, place, line.detail))
        if entry.plans is not None:
            yield from self._sub_lines("!", f"its steps are {entry.plans}", Style.WARNING)

    def _sub_lines(self, mark: str, words: str, style: Style = Style.FAINT) -> Iterator[str]:
        indent = " " * (self._indent + 2)
        line = " ".join(f"{mark} {words}"[:MAX_DISPLAY].split())
        first, *rest = wrap(display_text(line), self.limit - len(indent) - 2, MAX_REASON_LINES)
        if first.startswith(mark):
            first = self.paint(style, mark) + first[len(mark) :]
        yield indent + first
        yield from (f"{indent}  {line}" for line in rest)


def _entry_words(entry: LogEntry) -> str:
    stored = entry.stored
    if stored.record is None:
        return f"[payload {stored.lost}]"
    event = stored.record.event
    if isinstance(event, EffectDone):
        return _outcome(event, entry)
    return event_words(event) + _cause_words(event)


def _outcome(effect: EffectDone, entry: LogEntry) -> str:
    return f"{effect_words(effect, entry.step)} (step {effect.step} of {effect.of})"


def _rule_words(rule: str, place: str, words: str) -> str:
    return f"{rule} ({place}): {words}" if place else f"{rule}: {words}"


def _pending_steps(entry: LogEntry, decision: Decision) -> dict[str, tuple[str, list[str]]]:
    """Return the pending steps by rule, for rules with a place that are not printed yet."""
    named = {one.uid for one in decision.reasons} | {one.uid for one in entry.changed}
    found: dict[str, tuple[str, list[str]]] = {}
    for plan in decision.plans:
        if plan.steps and plan.uid in entry.places and plan.uid not in named:
            _, ops = found.setdefault(plan.uid, (plan.rule, []))
            ops.extend(step.op for step in plan.steps)
    return found


def _cause_words(event: Event) -> str:
    """Name the rule that caused the event directly."""
    return f" (by {event.cause[-1].rpartition('#')[2]})" if event.cause else ""


def _pad(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))
