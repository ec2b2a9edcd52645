"""The engine inside a Python program, for any agent loop.

`submit` records an event in the journal, decides it and performs the steps. `decide` is a dry run
like `bylaw decide`: it records and performs nothing. The host returns messages in the reply, calls
tools as functions, and writes log steps to the logger of Bylaw.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from threading import Lock, local
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace
from msgspec.structs import replace as changed

from bylaw.engine.index import RuleSet
from bylaw.engine.plan import DONE, StepOutcome
from bylaw.model.codes.runtime import EVENT_SYNTAX
from bylaw.model.decision import NeedName
from bylaw.model.diagnostic import sort_diagnostics
from bylaw.model.effects import Log, MessageInsert, OutputReplace, PromptShow, ToolCall
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.event import DEFAULT_SESSION
from bylaw.model.vocabulary import EffectStatus, Level, Op, is_not_allowed
from bylaw.model.wire import EventError, decode_event, round_trip
from bylaw.runtime.answer import unrecorded_answer
from bylaw.runtime.effects import PYTHON
from bylaw.runtime.journal_access import open_journal
from bylaw.runtime.loader import Library, load_paths, load_root, merge_reloaded, repeat_load
from bylaw.runtime.loop import Loop
from bylaw.runtime.needs import LOGGER, NO_GATHERERS, session_state, with_model_facts
from bylaw.runtime.root import Configuration, find_root, read_configuration
from bylaw.runtime.rules_in_force import DisabledRules
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.settings import ModelSettings
from bylaw.runtime.submit import DryRun
from bylaw.store.journal.errors import JournalError
from bylaw.store.journal.journal import Journal
from bylaw.store.journal.records import rules_with_texts, rules_without_texts
from bylaw.store.switches import read_switches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.engine.plan import DueStep
    from bylaw.model.decision import Decision, Reason
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.event import Event
    from bylaw.model.procedure import Book
    from bylaw.model.session import Session
    from bylaw.model.values import JSON
    from bylaw.model.vocabulary import Verdict
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.effects import Performers
    from bylaw.runtime.needs import Gatherers
    from bylaw.store.journal.records import ActiveRuleTexts

_LOGGER = logging.getLogger(LOGGER)
_LEVELS = {
    Level.DEBUG: logging.DEBUG,
    Level.INFO: logging.INFO,
    Level.WARNING: logging.WARNING,
    Level.ERROR: logging.ERROR,
}


class HostMessages(Struct):
    """Messages for the model and the person that rules produced, in order."""

    messages: list[MessageInsert] = field(default_factory=list)
    prompts: list[PromptShow] = field(default_factory=list)
    output: str | None = None


class Reply:
    """The answer to one event: the verdict, its reasons and the messages of rules."""

    def __init__(self, answer: Answer, said: HostMessages) -> None:
        self.answer = answer
        self.messages = tuple(said.messages)
        self.prompts = tuple(said.prompts)
        self.output = said.output

    @property
    def verdict(self) -> Verdict:
        """The final verdict."""
        return self.answer.verdict

    @property
    def denied(self) -> bool:
        """Whether the event must not happen. This includes `ask`: a person has not decided yet."""
        return is_not_allowed(self.verdict)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """The reasons of the decision."""
        return self.answer.deciding.reasons


class PythonHost:
    """Collect messages, and call the tools that the program provides."""

    name = PYTHON
    scribe = None

    def __init__(self, tools: Mapping[str, Callable[..., JSON]]) -> None:
        self._tools = tools
        self._thread = local()

    @property
    def gatherers(self) -> Gatherers:
        """Empty: a program passes its facts with its events."""
        return NO_GATHERERS

    @property
    def performers(self) -> Performers:
        """One method for each step."""
        return {
            Op.MESSAGE_INSERT: self._collect,
            Op.PROMPT_SHOW: self._collect,
            Op.OUTPUT_REPLACE: self._collect,
            Op.LOG: self._log,
            Op.TOOL_CALL: self._call_tool,
        }

    @contextmanager
    def collect_messages(self) -> Iterator[HostMessages]:
        """Collect the messages of this thread inside the `with` block."""
        outer = getattr(self._thread, "messages", None)  # a tool may submit events itself
        said = self._thread.messages = HostMessages()
        try:
            yield said
        finally:
            self._thread.messages = outer

    def _collect(self, due: DueStep, _event: Event) -> StepOutcome:
        said: HostMessages = self._thread.messages
        match due.step:
            case MessageInsert() as step:
                said.messages.append(step)
            case PromptShow() as step:
                said.prompts.append(step)
            case OutputReplace(text=str() as text):
                said.output = text
        return DONE

    def _log(self, due: DueStep, _event: Event) -> StepOutcome:
        assert isinstance(due.step, Log)
        _LOGGER.log(_LEVELS[due.step.level], "%s: %s", due.plan.rule, due.step.text)
        return DONE

    def _call_tool(self, due: DueStep, _event: Event) -> StepOutcome:
        assert isinstance(due.step, ToolCall)
        tool = self._tools.get(due.step.tool)
        if tool is None:
            return StepOutcome(
                EffectStatus.NOT_CARRIED_OUT, {"error": f"unknown tool `{due.step.tool}`"}
            )
        return StepOutcome(EffectStatus.OK, {"result": tool(**due.step.args)})


AnyPath: TypeAlias = str | os.PathLike[str]


def load(paths: AnyPath | Iterable[AnyPath] | None = None) -> Library:
    """Load the books of rule files and folders. Problems are in the `diagnostics` of the result.

    Without paths, load the rules of the root: the files that its settings name and the files in the
    standard folders.
    """
    if paths is None:
        return load_root(find_root())
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    return load_paths([os.fspath(path) for path in given])


class Engine:
    """Decide events under books.

    Events name their session. Sessions of `decide` are in memory, sessions of `submit` in the
    journal. `journal` is a path, an open journal, or True for the journal that the settings of the
    root name. Without it, submitted events are recorded in memory.
    `tools` are the functions that rules may call.

    Raises LoadError if the books must not be used.
    """

    def __init__(
        self,
        books: Library | Iterable[Book],
        journal: AnyPath | Journal | Literal[True] | None = None,
        *,
        tools: Mapping[str, Callable[..., JSON]] | None = None,
    ) -> None:
        off: Iterable[str] = ()
        self._library: Library | None = None
        if isinstance(books, Library):
            self._library, off = _with_disabled_rules(books)
            books = books.in_force()
        self._books = tuple(books)
        self._switches = DisabledRules(self._books, off)
        self._scripts = ScriptRunner()
        gatherers = {NeedName.SCRIPTS: self._scripts.gather}
        self._dry_run = DryRun(RuleSet(self._books), gatherers)
        self._journal = journal
        self._host = PythonHost(tools or {})
        self._model = _model_settings(self._library)
        self._loop_lock = Lock()
        self._open_loop: Loop | None = None
        # Messages of rules while no event was submitted: the next reply carries them.
        self._pending_messages: list[MessageInsert] = []

    def decide(self, event: Event | Mapping[str, object]) -> Decision:
        """Decide an event and apply it to its session. Nothing is recorded or performed.

        Raises EventError if `event` is not a valid event.
        """
        given = _read_event(event) if isinstance(event, Mapping) else event
        decision = self._dry_run.submit(self._with_runtime_facts(given)).decision
        # Build the lazy trace now: it reads the event, and the caller may change that afterwards.
        return replace(decision, trace=tuple(decision.trace))

    def submit(self, event: Event | Mapping[str, object]) -> Reply:
        """Record an event, decide it and perform its steps.

        If the journal cannot record, a gate is denied and the reason says what to do.
        Raises EventError if `event` is not a valid event.
        """
        given = _read_event(event) if isinstance(event, Mapping) else round_trip(event)
        with self._host.collect_messages() as said:
            said.messages, self._pending_messages = self._pending_messages, []
            try:
                (answer,) = self._loop().take([self._with_runtime_facts(given)])
            except JournalError as problem:  # the journal could not be opened
                answer = unrecorded_answer(given, problem)
        return Reply(answer, said)

    def _with_runtime_facts(self, event: Event) -> Event:
        """Add what the runtime knows: disabled rules and the limits of the model."""
        return with_model_facts(self._switches.stamp(event), self._model)

    def close(self) -> None:
        """Stop the script process. Close the journal unless the caller passed an open one."""
        self._scripts.close()
        loop = self._open_loop
        if loop is not None and loop.journal is not self._journal:
            loop.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _loop(self) -> Loop:
        with self._loop_lock:  # two threads must not open two journals
            if self._open_loop is None:
                rules, journal = self._dry_run.rules, self._open_journal()
                in_force = self._active_rules()
                self._open_loop = Loop(self._host, rules, in_force, journal, self._scripts)
            return self._open_loop

    def _open_journal(self) -> Journal:
        match self._journal:
            case Journal():
                return self._journal
            case None:
                return Journal()
            case True:
                return open_journal(self._root, read_configuration(self._root))
        path = os.fspath(self._journal)
        if self._library is None:
            return Journal(path)
        # Redaction and anchor come from the settings of the root. Paths passed to `load` have none.
        given = self._library.search.given is not None
        settings = Configuration() if given else read_configuration(self._root)
        return open_journal(self._root, settings, path)

    @property
    def _root(self) -> str:
        if self._library is None:
            raise BylawError("these books have no root; pass the path of a journal")
        return self._library.search.root

    def _active_rules(self) -> ActiveRuleTexts:
        if self._library is None:
            return rules_without_texts(self._books)
        return rules_with_texts(self._library.governing)

    def disable(self, rule: str) -> None:
        """Disable the rule with this id or uid for all sessions of this engine.

        Nothing is written to disk; `bylaw rules disable` disables a rule permanently.
        Raises RuleError if no rule or several rules match, or if it is a core rule.
        """
        self._set_enabled(rule, on=False)

    def enable(self, rule: str) -> None:
        """Enable a rule again. Raises RuleError if it is unknown or disabled in its own file."""
        self._set_enabled(rule, on=True)

    def reload(self) -> Library:
        """Load the same files and the disabled rules of the root again. Sessions continue.

        If a file no longer loads, its old rules stay active, see `runtime.reloading`. Problems are
        in the `diagnostics` of the result.
        """
        if self._library is None:
            raise BylawError("cannot reload: these books were not loaded from files")
        library, off = _with_disabled_rules(
            merge_reloaded(self._library, repeat_load(self._library.search))
        )
        self._books, before = library.in_force(), self.disabled
        is_new = library.books is not self._library.books
        self._library = library
        self._model = _model_settings(library)
        if is_new:
            self._dry_run.rules = RuleSet(self._books)
            if self._open_loop is not None:
                self._open_loop.runtime.renew(self._dry_run.rules, self._active_rules())
        self._switches.renew(self._books, off)
        if is_new or self.disabled != before:
            self._record_change(before)
        return library

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The problems found when the rules were last loaded."""
        return () if self._library is None else self._library.diagnostics

    @property
    def disabled(self) -> tuple[str, ...]:
        """The uids of the disabled rules."""
        return self._switches.disabled

    @property
    def session(self) -> Session:
        """The session of `decide` for events that do not name one."""
        return self._dry_run.session(DEFAULT_SESSION)

    @property
    def sessions(self) -> Mapping[str, Session]:
        """All sessions of `decide`, by id."""
        return MappingProxyType(self._dry_run.sessions)

    @property
    def state(self) -> dict[str, JSON]:
        """The default session as `bylaw decide --state` prints it."""
        return session_state(self.session)

    def _set_enabled(self, rule: str, *, on: bool) -> None:
        before = self.disabled
        self._switches.switch(rule, on=on)
        if self.disabled != before:
            self._record_change(before)

    def _record_change(self, before: tuple[str, ...]) -> None:
        event = self._switches.changed(before)
        if self._open_loop is not None:
            with self._host.collect_messages() as said:
                self._open_loop.take([self._with_runtime_facts(event)])
            self._pending_messages += said.messages
        for session in tuple(self.sessions) or (DEFAULT_SESSION,):
            self._dry_run.submit(self._with_runtime_facts(replace(event, session=session)))


def _with_disabled_rules(library: Library) -> tuple[Library, Iterable[str]]:
    """Add the disabled rules of the root; none if the caller passed paths.

    If they cannot be read, no rule is disabled and the diagnostics of the library say why.
    """
    if library.search.given is not None:
        return library, ()
    switches = read_switches(library.search.root)
    findings = sort_diagnostics([*library.diagnostics, *switches.diagnostics])
    return changed(library, diagnostics=tuple(findings)), switches.disabled


def _model_settings(library: Library | None) -> ModelSettings:
    """The model settings of the root; the defaults if the caller passed paths."""
    if library is None or library.search.given is not None:
        return ModelSettings()
    try:
        return read_configuration(library.search.root).settings.model
    except LoadError:  # the diagnostics of the library report this already
        return ModelSettings()


def _read_event(event: Mapping[str, object]) -> Event:
    # Go through JSON bytes, so that a program and a pipe follow the same rules.
    try:
        line = json.dumps(dict(event), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as wrong:
        raise EventError(EVENT_SYNTAX.name, f"the event is not JSON: {wrong}") from None
    return decode_event(line)
