"""Warn about active rules that a host cannot support completely.

    rule → its hook points in the host → events, effects, verdict, texts → diagnostics

The tables in `runtime/effects` say what each host supports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.codes.hosts import HOST_EFFECT, HOST_EVENT, HOST_TEXT, HOST_VERDICT
from bylaw.model.diagnostic import warning
from bylaw.model.effects import SESSION_STEPS, EventEmit
from bylaw.model.rule import NoticeMaker
from bylaw.model.source import Span
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import CallStatus, DeliverAt, Kind, Moment, Op
from bylaw.runtime.effects import (
    ABILITIES,
    BUS,
    CARRIES_OUT,
    CHAT,
    KINDS_AT,
    NOTICE_AT,
    SENDS,
    TITLES,
    Ask,
)
from bylaw.runtime.named_rules import named_rules
from bylaw.tools.printers.wording import enumerated

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.rule import Rule
    from bylaw.model.source import SourceFile
    from bylaw.runtime.effects import ClientAbilities
    from bylaw.runtime.loading import Library, LoadedBook
    from bylaw.runtime.named_rules import NamedRule

# Every host supports these: they change only the session or the queue of events.
_ANYWHERE = frozenset(step.op for step in (*SESSION_STEPS, EventEmit))
_OUTPUT = (Kind.TURN_END,)
_STOPS = frozenset({Moment.STOP, Moment.SUBAGENT_STOP})
_GATES = frozenset({Kind.PROMPT, Kind.TURN_START, Kind.TOOL_BEFORE, Kind.TURN_END, Kind.AGENT_STOP})

_WORDS = {
    Moment.SESSION_START: "a session start",
    Moment.PROMPT: "a prompt",
    Moment.BEFORE_TOOL: "a tool call",
    Moment.AFTER_TOOL: "the end of a tool call",
    Moment.STOP: "a stop",
    Moment.SUBAGENT_STOP: "a subagent stop",
    Moment.SESSION_END: "a session end",
}


def check_host(library: Library, host: str, disabled: Container[str] = ()) -> list[Diagnostic]:
    """Warn about what the host does not support in the rules that would be active there."""
    books = library.books if host == CHAT else library.governing
    return [finding for book in books for finding in _of_book(book, host, disabled)]


def _of_book(loaded: LoadedBook, host: str, disabled: Container[str]) -> Iterator[Diagnostic]:
    for rule in named_rules([loaded.book]).values():
        is_on = rule.enabled and not rule.is_switched(disabled)
        if is_on and rule.origin.file not in loaded.broken:
            source = loaded.texts[rule.origin.file].source
            yield from dict.fromkeys(_Checked(rule, host, source).findings())


class _Checked(Struct, frozen=True):
    rule: NamedRule
    host: str
    source: SourceFile

    @property
    def title(self) -> str:
        return TITLES[self.host]

    def findings(self) -> Iterator[Diagnostic]:
        yield from self._events()
        yield from self._effects()
        abilities = ABILITIES.get(self.host)
        if abilities is not None:
            for part in self.rule.parts:
                yield from self._verdict(part, abilities)
                yield from self._texts(part, abilities)

    def _events(self) -> Iterator[Diagnostic]:
        """Warn about event kinds and call results that the host never sends."""
        missed = [kind for kind in self.rule.kinds if kind not in SENDS[self.host]]
        if missed:
            named = enumerated([f"`{kind}`" for kind in missed])
            headline = f"`{self.rule.id}` fires on {named}, which {self.title} never sends"
            yield self._warn(HOST_EVENT, headline, "the rule never fires there")
        abilities, status = ABILITIES.get(self.host), self.rule.status
        if abilities and abilities.failures and status and CallStatus.OK not in status:
            headline = (
                f"`{self.rule.id}` fires on failed calls, but {self.title} {abilities.failures}"
            )
            yield self._warn(HOST_EVENT, headline, "the rule rarely or never fires there")

    def _effects(self) -> Iterator[Diagnostic]:
        """Warn about steps that the host cannot carry out. Skip parts that never fire there."""
        undone = {
            maker.op: part
            for part in self.rule.parts
            if any(kind in SENDS[self.host] for kind in part.on.kinds)
            for maker in part.plan.steps
            if not _is_carried_out(part, maker.op, self.host)
        }
        for op, part in undone.items():
            headline = f"`{self.rule.id}` uses `{op}`, which {self.title} cannot carry out"
            able = [TITLES[host] for host in TITLES if _is_carried_out(part, op, host)]
            by = f"; supported by {enumerated(able)}" if able else ""
            yield self._warn(
                HOST_EFFECT, headline, f"the step is recorded as `not_carried_out`{by}"
            )

    def _verdict(self, part: Rule, abilities: ClientAbilities) -> Iterator[Diagnostic]:
        """Warn about a verdict that the host cannot enforce, or enforces in another way."""
        judgement = part.judgement
        kinds = [kind for kind in part.on.kinds if kind in _GATES]
        if judgement is None or judgement.verdict < Verdict.ASK or not kinds:
            return
        id_, moments = self.rule.id, _moments(part, abilities, kinds)
        too_late = moments - abilities.denies
        if too_late:
            headline = f"`{id_}` cannot block {_named(too_late)} in {self.title}"
            yield self._warn(
                HOST_VERDICT, headline, f"its reason is sent later, at {_later(abilities)}"
            )
        if moments & abilities.denies & _STOPS and part.on.kinds == _OUTPUT:
            headline = f"`{id_}` denies an output that {self.title} has already shown"
            yield self._warn(
                HOST_VERDICT, headline, "the stop is blocked instead, with the same reason"
            )
        asks = judgement.verdict is Verdict.ASK and Moment.BEFORE_TOOL in moments
        if asks and abilities.ask is not Ask.PERSON:
            headline = f"`{id_}` asks a person, which {self.title} cannot do"
            yield self._warn(HOST_VERDICT, headline, f"the call is {abilities.ask}")

    def _texts(self, part: Rule, abilities: ClientAbilities) -> Iterator[Diagnostic]:
        """Warn about messages, notices and warnings that arrive late or reach only the model."""
        id_, moments = self.rule.id, _moments(part, abilities, part.on.kinds)
        silent = moments - abilities.for_model
        if part.judgement is not None and part.judgement.verdict >= Verdict.ASK:
            silent -= abilities.denies & _STOPS  # the message is sent with the reason
        for maker in part.plan.steps:
            if maker.op is Op.MESSAGE_INSERT and silent and silent == moments:
                yield self._waits(f"the message of `{id_}`", silent, abilities)
            if isinstance(maker, NoticeMaker) and (
                due := _due(maker, moments) - abilities.for_model
            ):
                yield self._waits(f"the notice of `{id_}`", due, abilities)
        warns = part.judgement is not None and part.judgement.verdict is Verdict.WARN
        if warns and (unshown := moments - abilities.for_person):
            headline = f"the warning of `{id_}` is not shown to the person in {self.title}"
            unheard = unshown - abilities.for_model
            help_ = (
                f"the model receives it later, at {_later(abilities)}"
                if unheard
                else "the model receives it"
            )
            yield self._warn(HOST_TEXT, headline, help_)

    def _waits(
        self, what: str, moments: frozenset[Moment], abilities: ClientAbilities
    ) -> Diagnostic:
        headline = f"{what} does not reach the model at {_named(moments)} in {self.title}"
        return self._warn(HOST_TEXT, headline, f"it is queued until {_later(abilities)}")

    def _warn(self, code: Code, headline: str, help_: str) -> Diagnostic:
        return warning(code, headline, self.source, self._span, help=help_)

    @property
    def _span(self) -> Span:
        """The first line of the rule, from the start of the rule on."""
        origin = self.rule.origin
        line = self.source.line_text(origin.line)
        begin = self.source.offset_of_utf16(origin.line, 0)
        return Span(begin + min(origin.column - 1, len(line)), begin + len(line.rstrip()))


def _is_carried_out(part: Rule, op: Op, host: str) -> bool:
    if op in _ANYWHERE:
        return True
    # Only the bus performs the steps of a file change, so that they run once.
    is_elsewhere = part.on.kinds == (Kind.FILE,) and host != BUS
    return op in CARRIES_OUT[host] and not is_elsewhere


def _moments(part: Rule, abilities: ClientAbilities, kinds: Container[Kind]) -> frozenset[Moment]:
    """Return the hook points at which the client sends such events."""
    heard = abilities.hears - {Moment.SUBAGENT_STOP} if part.on.main_agent else abilities.hears
    return frozenset(one for one in heard if any(kind in kinds for kind in KINDS_AT[one]))


def _due(maker: NoticeMaker, moments: frozenset[Moment]) -> frozenset[Moment]:
    if maker.deliver_at is DeliverAt.IMMEDIATE:
        return moments
    return frozenset({NOTICE_AT[maker.deliver_at]})


def _named(moments: frozenset[Moment], last: str = "and") -> str:
    return enumerated([words for moment, words in _WORDS.items() if moment in moments], last)


def _later(abilities: ClientAbilities) -> str:
    """Name the events at which a text can reach the model."""
    return _named(abilities.for_model, "or")
