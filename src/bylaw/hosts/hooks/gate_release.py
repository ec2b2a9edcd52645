"""Release failed gates for a number of minutes, or close them again, and record it.

Hook processes read the file that says until when gates are released. If the journal cannot be
written, gates are released without a record, and the result says why: a broken journal may be the
reason for the release.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.clients.caller import require_person
from bylaw.hosts.hooks.failure_state import RELEASE_FILE
from bylaw.model.errors import BylawError, LoadError
from bylaw.model.event import Custom
from bylaw.model.fold import fold
from bylaw.runtime.journal_access import open_journal
from bylaw.runtime.root import Configuration, read_configuration
from bylaw.store.files import os_error_text
from bylaw.store.journal.journal import QUIET, Entry
from bylaw.store.journal.records import NO_RULES
from bylaw.store.system import now_ms, user_name
from bylaw.store.user_state import remove_user_file, user_state, write_user_file

if TYPE_CHECKING:
    from bylaw.model.session import Session
    from bylaw.model.values import JSON

# Records of releases have a session of their own.
SESSION = "bylaw.gates"
TYPE = "gates.release"
_MINUTE_S = 60


class GateRelease(Struct, frozen=True):
    """Result of a release, or of closing gates again.

    `until` is the end of the release in seconds since 1970, 0 if gates are closed. `unrecorded`
    says why the journal has no record of it; empty if it has one.
    """

    until: int
    unrecorded: str


def release(root: str, minutes: int) -> GateRelease:
    """Release gates for some minutes, or close them if `minutes` is 0.

    Raises BylawError if an agent asks for a release, or if the file cannot be written or removed.
    """
    if minutes:
        require_person("releasing gates")
    until = int(time.time()) + minutes * _MINUTE_S if minutes else 0
    folder = user_state(root)
    unrecorded = _record(root, minutes, until)
    try:
        if minutes:
            write_user_file(folder, RELEASE_FILE, b"%d\n" % until)
        else:
            remove_user_file(folder, RELEASE_FILE)
    except OSError as wrong:
        what = "release" if minutes else "close"
        raise BylawError(f"cannot {what} gates in `{folder}`: {os_error_text(wrong)}") from None
    return GateRelease(until, unrecorded)


def _record(root: str, minutes: int, until: int) -> str:
    """Record it in the journal; return why that failed, or an empty text."""
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
    """Return the settings, or the defaults if `bylaw.toml` does not load.

    A file that does not load may be the reason for the release.
    """
    try:
        return read_configuration(root)
    except LoadError:
        return Configuration()
