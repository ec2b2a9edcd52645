"""The engine inside a Python program, for any agent loop.

`submit` records an event in the journal, decides it and performs the steps. `decide` is a dry run
like `bylaw decide`: it records and performs nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from msgspec.structs import replace
from msgspec.structs import replace as changed

from bylaw.engine.index import RuleSet
from bylaw.hosts.base import Loop
from bylaw.hosts.python_host import PythonHost, Reply
from bylaw.model.codes.events import EVENT_SYNTAX
from bylaw.model.decision import NeedName
from bylaw.model.diagnostic import in_order
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.event import DEFAULT_SESSION
from bylaw.model.wire import EventError, as_written, decode_event
from bylaw.runtime.answer import not_recorded
from bylaw.runtime.configuration import Configuration
from bylaw.runtime.journal.errors import JournalError
from bylaw.runtime.journal.opening import open_journal
from bylaw.runtime.journal.sources import rules_of, rules_with_texts
from bylaw.runtime.journal.store import Journal
from bylaw.runtime.loading import Library, load_again, load_paths, load_root
from bylaw.runtime.model_facts import with_model_facts
from bylaw.runtime.rehearsal import Rehearsal
from bylaw.runtime.reloading import reloaded
from bylaw.runtime.root import find_root, read_configuration
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.session_state import session_state
from bylaw.runtime.settings.tables import ModelSettings
from bylaw.runtime.switches import read_switches
from bylaw.runtime.switching import Switchboard

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.decision import Decision
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.effects import MessageInsert
    from bylaw.model.event import Event
    from bylaw.model.procedure import Book
    from bylaw.model.session import Session
    from bylaw.model.values import JSON
    from bylaw.runtime.journal.sources import RulesInForce


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
            self._library, off = _with_switches(books)
            books = books.in_force()
        self._books = tuple(books)
        self._switches = Switchboard(self._books, off)
        self._scripts = ScriptRunner()
        gatherers = {NeedName.SCRIPTS: self._scripts.gather}
        self._rehearsal = Rehearsal(RuleSet(self._books), gatherers)
        self._journal = journal
        self._host = PythonHost(tools or {})
        self._model = _model_of(self._library)
        self._opening = Lock()
        self._open_loop: Loop | None = None
        # Messages of rules while no event was submitted: the next reply carries them.
        self._unsaid: list[MessageInsert] = []

    def decide(self, event: Event | Mapping[str, object]) -> Decision:
        """Decide an event and apply it to its session. Nothing is recorded or performed.

        Raises EventError if `event` is not a valid event.
        """
        given = _read(event) if isinstance(event, Mapping) else event
        decision = self._rehearsal.submit(self._stamped(given)).decision
        # Build the lazy trace now: it reads the event, and the caller may change that afterwards.
        return replace(decision, trace=tuple(decision.trace))

    def submit(self, event: Event | Mapping[str, object]) -> Reply:
        """Record an event, decide it and perform its steps.

        If the journal cannot record, a gate is denied and the reason says what to do.
        Raises EventError if `event` is not a valid event.
        """
        given = _read(event) if isinstance(event, Mapping) else as_written(event)
        with self._host.collecting() as said:
            said.messages, self._unsaid = self._unsaid, []
            try:
                (answer,) = self._loop().take([self._stamped(given)])
            except JournalError as problem:  # the journal could not be opened
                answer = not_recorded(given, problem)
        return Reply(answer, said)

    def _stamped(self, event: Event) -> Event:
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
        with self._opening:  # two threads must not open two journals
            if self._open_loop is None:
                rules, journal = self._rehearsal.rules, self._opened_journal()
                in_force = self._in_force()
                self._open_loop = Loop(self._host, rules, in_force, journal, self._scripts)
            return self._open_loop

    def _opened_journal(self) -> Journal:
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

    def _in_force(self) -> RulesInForce:
        if self._library is None:
            return rules_of(self._books)
        return rules_with_texts(self._library.governing)

    def disable(self, rule: str) -> None:
        """Disable the rule with this id or uid for all sessions of this engine.

        Nothing is written to disk; `bylaw rules disable` disables a rule permanently.
        Raises RuleError if no rule or several rules match, or if it is a core rule.
        """
        self._switch(rule, on=False)

    def enable(self, rule: str) -> None:
        """Enable a rule again. Raises RuleError if it is unknown or disabled in its own file."""
        self._switch(rule, on=True)

    def reload(self) -> Library:
        """Load the same files and the disabled rules of the root again. Sessions continue.

        If a file no longer loads, its old rules stay active, see `runtime.reloading`. Problems are
        in the `diagnostics` of the result.
        """
        if self._library is None:
            raise BylawError("cannot reload: these books were not loaded from files")
        library, off = _with_switches(reloaded(self._library, load_again(self._library.search)))
        self._books, before = library.in_force(), self.disabled
        is_new = library.books is not self._library.books
        self._library = library
        self._model = _model_of(library)
        if is_new:
            self._rehearsal.rules = RuleSet(self._books)
            if self._open_loop is not None:
                self._open_loop.runtime.renew(self._rehearsal.rules, self._in_force())
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
        return self._rehearsal.session(DEFAULT_SESSION)

    @property
    def sessions(self) -> Mapping[str, Session]:
        """All sessions of `decide`, by id."""
        return MappingProxyType(self._rehearsal.sessions)

    @property
    def state(self) -> dict[str, JSON]:
        """The default session as `bylaw decide --state` prints it."""
        return session_state(self.session)

    def _switch(self, rule: str, *, on: bool) -> None:
        before = self.disabled
        self._switches.switch(rule, on=on)
        if self.disabled != before:
            self._record_change(before)

    def _record_change(self, before: tuple[str, ...]) -> None:
        event = self._switches.changed(before)
        if self._open_loop is not None:
            with self._host.collecting() as said:
                self._open_loop.take([self._stamped(event)])
            self._unsaid += said.messages
        for session in tuple(self.sessions) or (DEFAULT_SESSION,):
            self._rehearsal.submit(self._stamped(replace(event, session=session)))


def _with_switches(library: Library) -> tuple[Library, Iterable[str]]:
    """Add the disabled rules of the root; none if the caller passed paths.

    If they cannot be read, no rule is disabled and the diagnostics of the library say why.
    """
    if library.search.given is not None:
        return library, ()
    switches = read_switches(library.search.root)
    findings = in_order([*library.diagnostics, *switches.diagnostics])
    return changed(library, diagnostics=tuple(findings)), switches.disabled


def _model_of(library: Library | None) -> ModelSettings:
    """The model settings of the root; the defaults if the caller passed paths."""
    if library is None or library.search.given is not None:
        return ModelSettings()
    try:
        return read_configuration(library.search.root).settings.model
    except LoadError:  # the diagnostics of the library report this already
        return ModelSettings()


def _read(event: Mapping[str, object]) -> Event:
    # Go through JSON bytes, so that a program and a pipe follow the same rules.
    try:
        line = json.dumps(dict(event), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as wrong:
        raise EventError(EVENT_SYNTAX.name, f"the event is not JSON: {wrong}") from None
    return decode_event(line)
