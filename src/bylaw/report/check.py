"""Load rule files, given or found, and report their books and diagnostics for `bylaw check`.

With `--host`, active rules that a host cannot support completely are reported as warnings:

    rule → its hook points in the host → events, effects, verdict, texts → diagnostics

The effect tables of the runtime say what each host supports. ChatMD files that are in a folder of
rules but belong to no book are reported too: their rules apply only to their own chat.
"""

from __future__ import annotations

import os
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from bylaw.languages import find_language, language_names
from bylaw.model.codes.files import OVERLOOKED_CHAT
from bylaw.model.codes.runtime import HOST_EFFECT, HOST_EVENT, HOST_TEXT, HOST_VERDICT
from bylaw.model.diagnostic import has_errors, warning
from bylaw.model.display import visible, word_list
from bylaw.model.effects import SESSION_STEPS, EventEmit
from bylaw.model.errors import LoadError
from bylaw.model.rule import NoticeMaker
from bylaw.model.source import SourceFile, Span
from bylaw.model.vocabulary import CallStatus, DeliverAt, HookPoint, Kind, Op, Verdict
from bylaw.runtime.effects import (
    ABILITIES,
    BUS,
    CARRIES_OUT,
    CHAT,
    KINDS_AT,
    NOTICE_AT,
    SENDS,
    TITLES,
    AskSupport,
)
from bylaw.runtime.loader import Library, LoadedBook, load_paths, load_root
from bylaw.runtime.root import find_root, read_configuration
from bylaw.runtime.rule_files import FoundRuleFile, RuleFileReason, RuleFolder
from bylaw.runtime.rules_in_force import named_rules
from bylaw.runtime.trust import check_trust
from bylaw.store.paths import as_bytes, as_text
from bylaw.store.switches import read_switches

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from bylaw.model.codes import Code
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.rule import Rule
    from bylaw.runtime.effects import ClientAbilities
    from bylaw.runtime.rules_in_force import NamedRule

# Every host supports these: they change only the session or the queue of events.
_ANYWHERE = frozenset(step.op for step in (*SESSION_STEPS, EventEmit))
_OUTPUT = (Kind.TURN_END,)
_STOPS = frozenset({HookPoint.STOP, HookPoint.SUBAGENT_STOP})
_GATES = frozenset({Kind.PROMPT, Kind.TURN_START, Kind.TOOL_BEFORE, Kind.TURN_END, Kind.AGENT_STOP})

_EVENT_NAMES = {
    HookPoint.SESSION_START: "a session start",
    HookPoint.PROMPT: "a prompt",
    HookPoint.BEFORE_TOOL: "a tool call",
    HookPoint.AFTER_TOOL: "the end of a tool call",
    HookPoint.STOP: "a stop",
    HookPoint.SUBAGENT_STOP: "a subagent stop",
    HookPoint.SESSION_END: "a session end",
}


def check_host(library: Library, host: str, disabled: Container[str] = ()) -> list[Diagnostic]:
    """Warn about what the host does not support in the rules that would be active there."""
    books = library.books if host == CHAT else library.governing
    return [finding for book in books for finding in _check_book(book, host, disabled)]


def _check_book(loaded: LoadedBook, host: str, disabled: Container[str]) -> Iterator[Diagnostic]:
    for rule in named_rules([loaded.book]).values():
        is_on = rule.enabled and not rule.is_disabled(disabled)
        if is_on and rule.origin.file not in loaded.broken:
            source = loaded.texts[rule.origin.file].source
            yield from dict.fromkeys(_RuleOnHost(rule, host, source).findings())


class _RuleOnHost(Struct, frozen=True):
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
            named = word_list([f"`{kind}`" for kind in missed])
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
            by = f"; supported by {word_list(able)}" if able else ""
            yield self._warn(
                HOST_EFFECT, headline, f"the step is recorded as `not_carried_out`{by}"
            )

    def _verdict(self, part: Rule, abilities: ClientAbilities) -> Iterator[Diagnostic]:
        """Warn about a verdict that the host cannot enforce, or enforces in another way."""
        judgement = part.judgement
        kinds = [kind for kind in part.on.kinds if kind in _GATES]
        if judgement is None or judgement.verdict < Verdict.ASK or not kinds:
            return
        id_, moments = self.rule.id, _hook_points(part, abilities, kinds)
        too_late = moments - abilities.denies
        if too_late:
            headline = f"`{id_}` cannot block {_event_list(too_late)} in {self.title}"
            yield self._warn(
                HOST_VERDICT, headline, f"its reason is sent later, at {_later_events(abilities)}"
            )
        if moments & abilities.denies & _STOPS and part.on.kinds == _OUTPUT:
            headline = f"`{id_}` denies an output that {self.title} has already shown"
            yield self._warn(
                HOST_VERDICT, headline, "the stop is blocked instead, with the same reason"
            )
        asks = judgement.verdict is Verdict.ASK and HookPoint.BEFORE_TOOL in moments
        if asks and abilities.ask is not AskSupport.PERSON:
            headline = f"`{id_}` asks a person, which {self.title} cannot do"
            yield self._warn(HOST_VERDICT, headline, f"the call is {abilities.ask}")

    def _texts(self, part: Rule, abilities: ClientAbilities) -> Iterator[Diagnostic]:
        """Warn about messages, notices and warnings that arrive late or reach only the model."""
        id_, moments = self.rule.id, _hook_points(part, abilities, part.on.kinds)
        silent = moments - abilities.for_model
        if part.judgement is not None and part.judgement.verdict >= Verdict.ASK:
            silent -= abilities.denies & _STOPS  # the message is sent with the reason
        for maker in part.plan.steps:
            if maker.op is Op.MESSAGE_INSERT and silent and silent == moments:
                yield self._queued(f"the message of `{id_}`", silent, abilities)
            if isinstance(maker, NoticeMaker) and (
                due := _delivery_points(maker, moments) - abilities.for_model
            ):
                yield self._queued(f"the notice of `{id_}`", due, abilities)
        warns = part.judgement is not None and part.judgement.verdict is Verdict.WARN
        if warns and (unshown := moments - abilities.for_person):
            headline = f"the warning of `{id_}` is not shown to the person in {self.title}"
            unheard = unshown - abilities.for_model
            help_ = (
                f"the model receives it later, at {_later_events(abilities)}"
                if unheard
                else "the model receives it"
            )
            yield self._warn(HOST_TEXT, headline, help_)

    def _queued(
        self, what: str, moments: frozenset[HookPoint], abilities: ClientAbilities
    ) -> Diagnostic:
        headline = f"{what} does not reach the model at {_event_list(moments)} in {self.title}"
        return self._warn(HOST_TEXT, headline, f"it is queued until {_later_events(abilities)}")

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


def _hook_points(
    part: Rule, abilities: ClientAbilities, kinds: Container[Kind]
) -> frozenset[HookPoint]:
    """Return the hook points at which the client sends such events."""
    heard = (
        abilities.hook_events - {HookPoint.SUBAGENT_STOP}
        if part.on.main_agent
        else abilities.hook_events
    )
    return frozenset(one for one in heard if any(kind in kinds for kind in KINDS_AT[one]))


def _delivery_points(maker: NoticeMaker, moments: frozenset[HookPoint]) -> frozenset[HookPoint]:
    if maker.deliver_at is DeliverAt.IMMEDIATE:
        return moments
    return frozenset({NOTICE_AT[maker.deliver_at]})


def _event_list(moments: frozenset[HookPoint], last: str = "and") -> str:
    return word_list([words for moment, words in _EVENT_NAMES.items() if moment in moments], last)


def _later_events(abilities: ClientAbilities) -> str:
    """Name the events at which a text can reach the model."""
    return _event_list(abilities.for_model, "or")


FOLDERS = ("rules", ".bylaw", ".bylaw/rules")
MAX_WARNINGS = 20


def find_unlisted_chats(library: Library) -> list[Diagnostic]:
    """Warn about each such file, except files that a book imports."""
    known = set(_known_files(library))
    found = [path for path in _chat_files(library.search.root) if path not in known]
    return [_warning(path) for path in found[:MAX_WARNINGS]]


def _known_files(library: Library) -> Iterator[str]:
    yield from (one.path for one in library.search.found)
    for book in library.books:
        for file in book.texts.values():
            yield from (normpath(join(dirname(file.path), one)) for one in file.beside.texts)


def _chat_files(root: str) -> Iterator[str]:
    for folder in FOLDERS:
        try:
            names = sorted(map(as_text, os.listdir(as_bytes(f"{root}/{folder}"))))  # noqa: PTH208 - a Path takes no bytes
        except OSError:
            continue  # the folder is missing or not readable
        yield from (f"{folder}/{name}" for name in names if name.endswith(".chatmd"))


def _warning(path: str) -> Diagnostic:
    shown = visible(path)
    headline = f"`{shown}` is not listed as a rule file: it applies only to its own chat"
    help_ = f'add it to `bylaw.toml`: `[[book]]`, `path = "{shown}"`'
    return warning(OVERLOOKED_CHAT, headline, SourceFile(shown, ""), Span(0, 0), help=help_)


class BookReport(Struct, frozen=True):
    """A book as `bylaw check` shows it.

    `name` is the path, with the number of further files if the book has several. `trusted` is also
    true for a book that cannot start anything. `why` says how its files were found.
    """

    path: str
    name: str
    dialect: str
    rules: int
    files: int
    can_start: bool
    trusted: bool
    why: str


class CheckReport(Struct, frozen=True):
    """All books of a root, their diagnostics, and the places that were searched for rule files."""

    root: str
    books: tuple[BookReport, ...]
    diagnostics: tuple[Diagnostic, ...]
    places: tuple[RuleFolder, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a rule file has errors."""
        return has_errors(self.diagnostics)


def check(
    paths: Sequence[str], tell: Callable[[str], None] | None = None, host: str = ""
) -> CheckReport:
    """Load the given files, or else those of the root. Start and write nothing.

    With a host, also report what that host cannot do for the rules.
    """
    library = load_paths(paths, tell) if paths else load_root(find_root(), tell)
    report = build_report(library)
    findings = [] if paths else find_unlisted_chats(library)
    if host:
        # Disabled rules are rules of the root. They do not affect files given by path.
        disabled = () if paths else read_switches(library.search.root).disabled
        findings += check_host(library, host, disabled)
    return replace(report, diagnostics=(*report.diagnostics, *findings)) if findings else report


def build_report(library: Library) -> CheckReport:
    """Report the books of a library."""
    trusted = _is_trusted(library)
    books = tuple(_book_report(book, trusted=trusted) for book in library.books)
    return CheckReport(library.search.root, books, library.diagnostics, library.search.places)


def installed_languages() -> list[tuple[str, str]]:
    """Return name and specification of each installed language."""
    found = [dialect for name in language_names() if (dialect := find_language(name)) is not None]
    return [(dialect.name, dialect.spec) for dialect in found]


def _is_trusted(library: Library) -> bool:
    """Check the trust of the root. Settings that do not load are not trusted."""
    root = library.search.root
    try:
        return check_trust(root, library, read_configuration(root)).is_sufficient
    except LoadError:
        return False


def _book_report(loaded: LoadedBook, *, trusted: bool) -> BookReport:
    book = loaded.book
    can_start = bool(loaded.starts)
    return BookReport(
        path=book.path,
        name=_book_name(book),
        dialect=book.dialect,
        rules=len(named_rules([book])),
        files=len(book.files),
        can_start=can_start,
        trusted=trusted or not can_start,
        why=", ".join(dict.fromkeys(_reason_found(found) for found in loaded.files)),
    )


def _book_name(book: Book) -> str:
    is_first = book.path in book.files and len(book.files) > 1
    return f"{book.path} and {len(book.files) - 1:,} more" if is_first else book.path


def _reason_found(found: FoundRuleFile) -> str:
    match found.why:
        case RuleFileReason.GIVEN:
            return "given"
        case RuleFileReason.FOLDER:
            return f"in {found.by}"
        case RuleFileReason.NAMED:
            return f"named in {found.by}"
        case RuleFileReason.CONVENTION:
            return f"{found.by}, for its own chat" if found.own_session else found.by
