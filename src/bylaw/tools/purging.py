"""Count and erase payloads of a journal: the work behind `bylaw journal purge`."""

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

MAX_KNOWN = 1_000  # sessions that are searched for a similar name


def too_old() -> Purge:
    """Select the records older than `keep_days` of the root. Raise BylawError if it is not set."""
    days = read_configuration(find_root()).settings.journal.keep_days
    if days is None:
        raise BylawError(
            "nothing selected to erase: pass `--before`, `--older`, `--session` or `--all`, "
            "or set `keep_days` under `[journal]` in `bylaw.toml`"
        )
    return Purge(before=kept_from(days))


def look(path: str, wanted: Purge) -> Purged:
    """Count what would be erased. Raise JournalError if the journal or session is unknown."""
    with JournalReader(path) as reader:
        if not reader.newest:
            return Purged()
        question = "SELECT 1 FROM records WHERE session = ? LIMIT 1"
        if wanted.session is not None and not reader.query(question, (wanted.session,)):
            known = reader.query("SELECT id FROM sessions LIMIT ?", (MAX_KNOWN,))
            raise unknown_session(wanted.session, [name for (name,) in known])
        return would_erase(reader, wanted)


def purge(path: str, wanted: Purge) -> Purged:
    """Erase the payloads.

    Raises BylawError if an agent runs this process, JournalError if bytes may be left.
    """
    refuse_agents("erasing records")
    with Journal(path, anchor=anchor_of(find_root(), path)) as journal:
        return journal.purge(wanted)
