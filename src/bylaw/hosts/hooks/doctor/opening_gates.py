"""Minutes → gates that a failure of Bylaw closed, opened for that long or closed again, on record.

The file that says so is read by `open_gates`. A journal that cannot be written may be why somebody
needs this: then it is done all the same, and said.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.hooks.open_gates import FILE
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.event import Custom
from bylaw.model.fold import fold
from bylaw.runtime.clock import now_ms
from bylaw.runtime.configuration import Configuration
from bylaw.runtime.journal.opening import open_journal
from bylaw.runtime.journal.sources import NO_RULES
from bylaw.runtime.journal.store import Entry
from bylaw.runtime.journal.telling import QUIET
from bylaw.runtime.known_agents import refuse_agents
from bylaw.runtime.own_folder import remove_own, user_state, write_lasting
from bylaw.runtime.reading import in_plain_words
from bylaw.runtime.root import read_configuration
from bylaw.runtime.user_name import user_name

if TYPE_CHECKING:
    from bylaw.model.session import Session
    from bylaw.model.values import JSON

# Records of gates are no session of anybody.
SESSION = "bylaw.gates"
TYPE = "gates.release"
_MINUTE_S = 60


class Released(Struct, frozen=True):
    """Until when gates are open, in seconds, 0 if they are closed; why that is not on record."""

    until: int
    unrecorded: str


def release(root: str, minutes: int) -> Released:
    """Open gates, or close them with 0; BylawError if an agent is at work or it cannot be."""
    if minutes:
        refuse_agents("opening gates")
    until = int(time.time()) + minutes * _MINUTE_S if minutes else 0
    folder = user_state(root)
    unrecorded = _record(root, minutes, until)
    try:
        if minutes:
            write_lasting(folder, FILE, b"%d\n" % until)
        else:
            remove_own(folder, FILE)
    except OSError as wrong:
        what = "open" if minutes else "close"
        raise BylawError(f"cannot {what} gates in `{folder}`: {in_plain_words(wrong)}") from None
    return Released(until, unrecorded)


def _record(root: str, minutes: int, until: int) -> str:
    """Why it could not be recorded; empty if it was."""
    payload: dict[str, JSON] = {"minutes": minutes, "until": until, "by": user_name()}
    try:
        with open_journal(root, _configuration(root)) as journal:

            def judge(session: Session, seq: int) -> Entry:
                at = max(session.at, now_ms())
                event = Custom(session=SESSION, seq=seq, at=at, type=TYPE, payload=payload)
                return Entry(event, QUIET, fold(session, event, QUIET))

            journal.transact(SESSION, NO_RULES, judge)
    except BylawError as problem:
        return str(problem)
    return ""


def _configuration(root: str) -> Configuration:
    """Settings that nobody can read may be why somebody needs this: then the usual ones count."""
    try:
        return read_configuration(root)
    except LoadError:
        return Configuration()
