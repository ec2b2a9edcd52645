"""Books and events of a Python program → decisions and answers: the host for any agent loop.

`submit` records an event in the journal and carries out what follows from it; `decide` only
rehearses, as `bylaw decide` does it: nothing is recorded, nothing is carried out.
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
    """The books of rule files and folders, with what is wrong in their `diagnostics`.

    Without paths, those of the root: what its settings name and the convention finds.
    """
    if paths is None:
        return load_root(find_root())
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    return load_paths([os.fspath(path) for path in given])


class Engine:
    """Decides events under books; LoadError if the books must not be used.

    Sessions are kept by the id that events name: those of `decide` here, those of `submit` in the
    journal. `journal` is the path of one, or one that is open, or True for that of the root, as
    its settings say; without it, what is submitted is recorded in memory.
    `tools` are those that rules may call.
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
        # Messages that came when no event was submitted: the next reply brings them.
        self._unsaid: list[MessageInsert] = []

    def decide(self, event: Event | Mapping[str, object]) -> Decision:
        """The decision on an event, which then counts; EventError for what is no event."""
        given = _read(event) if isinstance(event, Mapping) else event
        decision = self._rehearsal.submit(self._stamped(given)).decision
        # The trace is made late and reads the event, which the caller may change from now on.
        return replace(decision, trace=tuple(decision.trace))

    def submit(self, event: Event | Mapping[str, object]) -> Reply:
        """Record an event, decide it and carry out what follows; EventError for what is none.

        If nothing can be recorded, a gate is denied and the reason says what to do.
        """
        given = _read(event) if isinstance(event, Mapping) else as_written(event)
        with self._host.collecting() as said:
            said.messages, self._unsaid = self._unsaid, []
            try:
                (answer,) = self._loop().take([self._stamped(given)])
            except JournalError as problem:  # it could not even be opened
                answer = not_recorded(given, problem)
        return Reply(answer, said)

    def _stamped(self, event: Event) -> Event:
        """With what the runtime knows beside the event: switches, and the model's limits."""
        return with_model_facts(self._switches.stamp(event), self._model)

    def close(self) -> None:
        """End what runs beside the program, and close the journal unless it was given open."""
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
        # Redaction and anchor are those of the root; files that were given have no settings.
        given = self._library.search.given is not None
        settings = Configuration() if given else read_configuration(self._root)
        return open_journal(self._root, settings, path)

    @property
    def _root(self) -> str:
        if self._library is None:
            raise BylawError("these books have no root; name the path of a journal")
        return self._library.search.root

    def _in_force(self) -> RulesInForce:
        if self._library is None:
            return rules_of(self._books)
        return rules_with_texts(self._library.governing)

    def disable(self, rule: str) -> None:
        """Switch off the rule with that id or uid, for all sessions of this engine.

        RuleError if there is none, or more than one, or if it is core. Nothing is written;
        `bylaw rules disable` switches a rule off for good.
        """
        self._switch(rule, on=False)

    def enable(self, rule: str) -> None:
        """Switch a rule on again; RuleError if there is none or if its own file has it off."""
        self._switch(rule, on=True)

    def reload(self) -> Library:
        """Load the same files again, and their root's switches; sessions go on.

        A file that does not load any more keeps its old rules, see `runtime.reloading`. What
        is wrong is in the `diagnostics` of the result.
        """
        if self._library is None:
            raise BylawError("these books were not loaded from files that could be loaded again")
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
        """What was wrong when the rules were last loaded."""
        return () if self._library is None else self._library.diagnostics

    @property
    def disabled(self) -> tuple[str, ...]:
        """The uids of the rules that are switched off."""
        return self._switches.disabled

    @property
    def session(self) -> Session:
        """What rules may read of the session of rehearsed events that name none."""
        return self._rehearsal.session(DEFAULT_SESSION)

    @property
    def sessions(self) -> Mapping[str, Session]:
        """All sessions of rehearsed events, by their ids."""
        return MappingProxyType(self._rehearsal.sessions)

    @property
    def state(self) -> dict[str, JSON]:
        """That session as `bylaw decide --state` prints it."""
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
    """The uids that are switched off in a root whose books were asked for.

    If that cannot be read, no rule is off, and the library tells why.
    """
    if library.search.given is not None:
        return library, ()
    switches = read_switches(library.search.root)
    findings = in_order([*library.diagnostics, *switches.diagnostics])
    return changed(library, diagnostics=tuple(findings)), switches.disabled


def _model_of(library: Library | None) -> ModelSettings:
    """What the settings of a root say of its model; files that were given have none."""
    if library is None or library.search.given is not None:
        return ModelSettings()
    try:
        return read_configuration(library.search.root).settings.model
    except LoadError:  # told when the library was loaded
        return ModelSettings()


def _read(event: Mapping[str, object]) -> Event:
    # Through its bytes, so that a program and a pipe are held to the same rules.
    try:
        line = json.dumps(dict(event), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as wrong:
        raise EventError(EVENT_SYNTAX.name, f"the event is not JSON: {wrong}") from None
    return decode_event(line)
