"""Books and events of a Python program → decisions, with sessions that live in memory.

Nothing is performed: what a plan would cause is decided at once, as `bylaw decide` does it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from bylaw.engine.index import RuleSet
from bylaw.model.codes.events import EVENT_SYNTAX
from bylaw.model.event import DEFAULT_SESSION
from bylaw.model.wire import EventError, decode_event
from bylaw.runtime.loading import Library, load_paths
from bylaw.runtime.rehearsal import Rehearsal
from bylaw.runtime.session_state import session_state

if TYPE_CHECKING:
    from bylaw.model.decision import Decision
    from bylaw.model.event import Event
    from bylaw.model.procedure import Book
    from bylaw.model.session import Session
    from bylaw.model.values import JSON


AnyPath: TypeAlias = str | os.PathLike[str]


def load(paths: AnyPath | Iterable[AnyPath]) -> Library:
    """The books of rule files and folders, with what is wrong in their `diagnostics`."""
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    return load_paths([os.fspath(path) for path in given])


class Engine:
    """Decides events under books; LoadError if the books must not be used.

    Sessions are kept by the id that events name. `session` and `state` are those of events
    that name none.
    """

    def __init__(self, books: Library | Iterable[Book]) -> None:
        in_force = books.in_force() if isinstance(books, Library) else books
        self._rehearsal = Rehearsal(RuleSet(in_force))

    def decide(self, event: Event | Mapping[str, object]) -> Decision:
        """The decision on an event, which then counts; EventError for what is no event."""
        given = _read(event) if isinstance(event, Mapping) else event
        decision = self._rehearsal.submit(given).decision
        # The trace is made late and reads the event, which the caller may change from now on.
        return replace(decision, trace=tuple(decision.trace))

    @property
    def session(self) -> Session:
        """What rules may read of the session so far."""
        return self._rehearsal.session(DEFAULT_SESSION)

    @property
    def sessions(self) -> Mapping[str, Session]:
        """All sessions by their ids."""
        return MappingProxyType(self._rehearsal.sessions)

    @property
    def state(self) -> dict[str, JSON]:
        """The session as `bylaw decide --state` prints it."""
        return session_state(self.session)


def _read(event: Mapping[str, object]) -> Event:
    # Through its bytes, so that a program and a pipe are held to the same rules.
    try:
        line = json.dumps(dict(event), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as wrong:
        raise EventError(EVENT_SYNTAX.name, f"the event is not JSON: {wrong}") from None
    return decode_event(line)
