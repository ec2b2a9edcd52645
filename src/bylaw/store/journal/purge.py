"""Erase payloads of records and write a record about it; the chain stays valid.

A purge removes the payloads. Of sessions that have ended, only the chain is left. Sessions that go
on lose the texts and arguments that are in no remaining record; counters, switches and names of
rules stay, so that no limit is reset. A missing payload without a purge record was removed by other
means. `[journal] keep_days` erases old payloads when a journal is opened, at most once a day.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.effects import Notify, StateSet
from bylaw.model.event import Custom
from bylaw.model.session import Session
from bylaw.model.values import as_text
from bylaw.model.vocabulary import Kind
from bylaw.store.journal.errors import JournalError, unfinished_purge
from bylaw.store.journal.records import NO_RULES
from bylaw.store.journal.sessions import ERASED, SessionPacker, texts_of
from bylaw.store.system import now_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from bylaw.model.calls import Calls, Notice, PendingCall, ToolUse
    from bylaw.model.event import Event
    from bylaw.model.history import History
    from bylaw.model.session import DeferredStep
    from bylaw.store.journal.journal import Journal
    from bylaw.store.journal.records import Header, RowSource
    from bylaw.store.journal.sessions import Sessions


def session_texts(session: Session) -> set[str]:
    """Return all texts of a session that may come from an event."""
    found: set[str] = set()

    def note(text: str) -> str:
        found.add(text)
        return text

    _replace_texts(session, note, lambda _: True)
    return found


def texts_in_payloads(texts: set[str], payloads: Iterable[bytes]) -> set[str]:
    """Return those of the texts that occur in one of the payloads, which are JSON."""
    said: set[str] = set()
    for payload in payloads:
        if len(said) == len(texts):
            break
        said.update(text for text in _json_texts(msgspec.json.decode(payload)) if text in texts)
    return said


def _json_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        if "result" in value:
            yield as_text(value["result"])  # the form that `last_tool` has
        for item in value.values():
            yield from _json_texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _json_texts(item)


def erase_texts(session: Session, said: Container[str], kept_from: int | None) -> Session:
    """Return the session with only these texts, and without arguments of calls before a time.

    Without a time, no call keeps its arguments.
    """
    return _replace_texts(
        session,
        lambda text: text if not text or text in said else ERASED,
        lambda at: kept_from is not None and at >= kept_from,
    )


def _replace_texts(
    session: Session, text: Callable[[str], str], keeps: Callable[[int], bool]
) -> Session:
    notices = session.notices
    return replace(
        session,
        history=_history(session.history, text),
        calls=_calls(session.calls, keeps),
        slate=replace(session.slate, variables=_plain(session.slate.variables, text, names=2)),
        notices=replace(
            notices,
            waiting=tuple(_notice(one, text) for one in notices.waiting),
            sent=tuple(replace(one, notice=_notice(one.notice, text)) for one in notices.sent),
        ),
        deferred=replace(
            session.deferred,
            waiting=tuple(_deferred(one, text) for one in session.deferred.waiting),
        ),
    )


def _history(history: History, text: Callable[[str], str]) -> History:
    messages = tuple(replace(one, content=text(one.content)) for one in history.messages)
    return replace(
        history,
        last_user=text(history.last_user),
        last_assistant=text(history.last_assistant),
        last_tool=text(history.last_tool),
        messages=messages,
        chars=sum(one.chars for one in messages),
    )


def _calls(calls: Calls, keeps: Callable[[int], bool]) -> Calls:
    def pending(one: PendingCall) -> PendingCall:
        return one if keeps(one.at) else replace(one, args={})

    def used(one: ToolUse) -> ToolUse:
        if keeps(one.timestamp):
            return one
        return replace(one, arguments={}, result=None if one.result is None else ERASED)

    return replace(
        calls,
        pending=tuple(map(pending, calls.pending)),
        tools=tuple(map(used, calls.tools)),
    )


def _notice(notice: Notice, text: Callable[[str], str]) -> Notice:
    return replace(notice, text=text(notice.text))


def _deferred(deferred: DeferredStep, text: Callable[[str], str]) -> DeferredStep:
    match deferred.step:
        case StateSet() as step:
            return replace(deferred, step=replace(step, value=_plain(step.value, text)))
        case Notify() as step:
            return replace(deferred, step=replace(step, text=text(step.text)))
    return deferred


def _plain(value: Any, text: Callable[[str], str], *, names: int = 0) -> Any:
    """Replace the texts of a plain value; keys of the first `names` levels are names of rules."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list | tuple):
        return [_plain(item, text) for item in value]
    if isinstance(value, dict):
        return {
            key if names else text(key): _plain(item, text, names=max(names - 1, 0))
            for key, item in value.items()
        }
    return value


# The session name of purge records; it is not the session of any agent.
PURGE_SESSION = "bylaw.journal"
PURGE_TYPE = "journal.purge"

Run: TypeAlias = "Callable[..., sqlite3.Cursor]"
_PAYLOADS = "FROM records r JOIN payloads p USING (seq)"


class Purge(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to erase: one session or all, before a time in milliseconds or everything."""

    session: str | None = None
    before: int | None = None

    def covers(self, header: Header) -> bool:
        """Check whether a record from before the purge lost its payload to it."""
        return (
            header.rules != NO_RULES.digest
            and self.session in (None, header.session)
            and (self.before is None or header.at < self.before)
        )

    def where(self) -> tuple[str, tuple[object, ...]]:
        """Return the same as SQL, starting after FROM, with its values."""
        asked: dict[str, object] = {
            "r.rules != ?": NO_RULES.digest,
            "r.session = ?": self.session,
            "r.at < ?": self.before,
        }
        given = {part: value for part, value in asked.items() if value is not None}
        return f"{_PAYLOADS} WHERE {' AND '.join(given)}", tuple(given.values())


class PurgeResult(Struct, frozen=True):
    """The number of payloads that were or would be erased, and of their sessions."""

    payloads: int = 0
    sessions: int = 0


def purge_event(wanted: Purge, purged: PurgeResult, seq: int, at: int) -> Event:
    """Return the event that records a purge."""
    payload = {**msgspec.to_builtins(wanted), "payloads": purged.payloads}
    return Custom(session=PURGE_SESSION, seq=seq, at=at, type=PURGE_TYPE, payload=payload)


def purge_of_record(header: Header, event: Event) -> Purge | None:
    """Return the purge that a record describes; None if it describes none."""
    if header.rules != NO_RULES.digest or not isinstance(event, Custom) or event.type != PURGE_TYPE:
        return None
    told = {name: event.payload.get(name) for name in Purge.__struct_fields__}
    return msgspec.convert(told, Purge)


def preview_purge(rows: RowSource, wanted: Purge) -> PurgeResult:
    """Count what a purge would erase."""
    return PurgeResult(*rows.query(*_count(wanted))[0])


def _count(wanted: Purge) -> tuple[str, tuple[object, ...]]:
    where, values = wanted.where()
    return f"SELECT count(*), count(DISTINCT r.session) {where}", values


def erase(run: Run, sessions: Sessions, wanted: Purge, seq: int) -> PurgeResult:
    """Erase payloads in the open transaction; the caller then writes record `seq` about it."""
    purged = PurgeResult(*run(*_count(wanted)).fetchone())
    where, values = wanted.where()
    for (name,) in run(f"SELECT DISTINCT r.session {where}", values).fetchall():
        state = sessions.read(name)
        where, values = Purge(name, wanted.before).where()
        run(f"DELETE FROM payloads WHERE seq IN (SELECT r.seq {where})", values)  # noqa: S608 - ours
        # Under the number of the purge record, so that no process continues with a cached state.
        sessions.write_snapshot(SessionPacker(), _remaining_session(run, state, wanted.before), seq)
    _sweep(run)
    return purged


def remove_erased_bytes(run: Run, path: str) -> None:
    """Rewrite the file without the erased bytes, and empty its log."""
    try:
        run("VACUUM")
        busy, _, _ = run("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error as problem:
        raise unfinished_purge(path, str(problem)) from problem
    if busy:
        raise unfinished_purge(path, "another process still reads the old content")


def _remaining_session(run: Run, state: Session, kept_from: int | None) -> Session:
    """Return what is left of a session after its payloads were erased."""
    if any(True for _ in _payloads(run, state.id)):
        return erase_texts(
            state, texts_in_payloads(session_texts(state), _payloads(run, state.id)), kept_from
        )
    if _has_ended(run, state.id):
        return Session(id=state.id, seq=state.seq, at=state.at)
    return erase_texts(state, (), None)


def _payloads(run: Run, name: str) -> Iterator[bytes]:
    """Yield the remaining events and decisions of a session."""
    found: list[tuple[int, bytes, bytes]] = [(0, b"", b"")]
    while found:
        found = run(
            "SELECT r.seq, p.event, p.decision FROM records r JOIN payloads p USING (seq)"
            " WHERE r.session = ? AND r.seq > ? ORDER BY r.seq LIMIT 100",
            (name, found[-1][0]),
        ).fetchall()
        for _, event, decision in found:
            yield event
            yield decision


def _has_ended(run: Run, name: str) -> bool:
    # Records that the end of the session caused come after it.
    found = run(
        "SELECT kind FROM records WHERE session = ? AND kind NOT IN (?, ?, ?)"
        " ORDER BY seq DESC LIMIT 1",
        (name, Kind.EFFECT.value, Kind.MESSAGE.value, Kind.CUSTOM.value),
    )
    return found.fetchall() == [(Kind.SESSION_END.value,)]


def _sweep(run: Run) -> None:
    """Delete texts to which no session refers."""
    run("CREATE TEMP TABLE kept (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID")
    for (name,) in run("SELECT id FROM sessions").fetchall():
        ((core,),) = run("SELECT core FROM sessions WHERE id = ?", (name,)).fetchall()
        for key in texts_of(core):
            run("INSERT OR IGNORE INTO temp.kept VALUES (?)", (key,))
    run("DELETE FROM texts WHERE digest NOT IN (SELECT digest FROM temp.kept)")
    run("DROP TABLE temp.kept")


DAY_MS = 24 * 60 * 60 * 1_000
_OLDEST = """
    SELECT r.at FROM payloads p CROSS JOIN records r USING (seq)
    WHERE r.rules != ? ORDER BY p.seq LIMIT 1
"""


def keep_since(keep_days: int) -> int:
    """Return the time in milliseconds from which on payloads are kept."""
    today = now_ms() // DAY_MS
    return (today - keep_days) * DAY_MS


def erase_old(journal: Journal, keep_days: int) -> None:
    """Erase payloads that are too old. If that fails now, a later call does it."""
    before = keep_since(keep_days)
    with suppress(JournalError):
        oldest = journal.query(_OLDEST, (NO_RULES.digest,))
        if oldest and oldest[0][0] < before:
            journal.purge(Purge(before=before))
