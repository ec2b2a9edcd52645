"""Which payloads of a journal → how many there are, and then erased."""

from __future__ import annotations

from bylaw.model.errors import BylawError
from bylaw.runtime.journal.errors import unknown_session
from bylaw.runtime.journal.keeping import kept_from
from bylaw.runtime.journal.opening import anchor_of
from bylaw.runtime.journal.purge import Purge, Purged, would_erase
from bylaw.runtime.journal.reader import JournalReader
from bylaw.runtime.journal.store import Journal
from bylaw.runtime.known_agents import refuse_agents
from bylaw.runtime.root import find_root, read_configuration

MAX_KNOWN = 1_000  # sessions among which one is looked for that may have been meant


def too_old() -> Purge:
    """What the settings of the root say is not kept; BylawError if they do not say it."""
    days = read_configuration(find_root()).settings.journal.keep_days
    if days is None:
        raise BylawError(
            "say what is to be erased: `--before`, `--older`, `--session` or `--all`; "
            "`[journal]` in `bylaw.toml` has no `keep_days`"
        )
    return Purge(before=kept_from(days))


def look(path: str, wanted: Purge) -> Purged:
    """What would be erased; JournalError if there is no such journal or session."""
    with JournalReader(path) as reader:
        if not reader.newest:
            return Purged()
        question = "SELECT 1 FROM records WHERE session = ? LIMIT 1"
        if wanted.session is not None and not reader.query(question, (wanted.session,)):
            known = reader.query("SELECT id FROM sessions LIMIT ?", (MAX_KNOWN,))
            raise unknown_session(wanted.session, [name for (name,) in known])
        return would_erase(reader, wanted)


def purge(path: str, wanted: Purge) -> Purged:
    """Erase; BylawError if an agent is at work, JournalError if bytes may be left."""
    refuse_agents("erasing records")
    with Journal(path, anchor=anchor_of(find_root(), path)) as journal:
        return journal.purge(wanted)
