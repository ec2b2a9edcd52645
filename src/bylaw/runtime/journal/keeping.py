"""Apply `[journal] keep_days`: erase old payloads when a journal is opened, at most once a day.

Days are calendar days in UTC. A payload is erased on the day after its last full day.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from bylaw.runtime.clock import now_ms
from bylaw.runtime.journal.errors import JournalError
from bylaw.runtime.journal.purge import Purge
from bylaw.runtime.journal.sources import NO_RULES

if TYPE_CHECKING:
    from bylaw.runtime.journal.store import Journal

DAY_MS = 24 * 60 * 60 * 1_000
_OLDEST = """
    SELECT r.at FROM payloads p CROSS JOIN records r USING (seq)
    WHERE r.rules != ? ORDER BY p.seq LIMIT 1
"""


def kept_from(keep_days: int) -> int:
    """Return the time in milliseconds from which on payloads are kept."""
    today = now_ms() // DAY_MS
    return (today - keep_days) * DAY_MS


def erase_old(journal: Journal, keep_days: int) -> None:
    """Erase payloads that are too old. If that fails now, a later call does it."""
    before = kept_from(keep_days)
    with suppress(JournalError):
        oldest = journal.query(_OLDEST, (NO_RULES.digest,))
        if oldest and oldest[0][0] < before:
            journal.purge(Purge(before=before))
