"""The current sessions of a journal: load a snapshot and fold the records after it.

Sessions stay in memory and are updated only if another process has written. A snapshot is a small
core with references to long texts, which are stored once. It is written from time to time, so that
neither writing nor loading takes longer in a long session. An erased text reads as `ERASED`.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.model.calls import ToolUse
from bylaw.model.fold import fold
from bylaw.model.history import HistoryMessage
from bylaw.model.session import Session
from bylaw.store.journal.errors import corrupt_journal
from bylaw.store.journal.records import decode_payload, digest

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Mapping

# Longer texts are stored once, apart from the sessions, unless the rest of the session is short.
INLINE_CHARS = 256
INLINE_BYTES = 4_096
ERASED = "[erased]"
# A reference to a text. A text that begins with the same mark is written with the prefix `_PLAIN`.
_MARK, _REF, _PLAIN = "\0", "\0text:", "\0plain:"
_JSON_MARK = rb"\u0000"  # as JSON writes it
_JSON_REF = re.compile(rb'"\\u0000text:([0-9a-f]{64})"')

_LISTS = (list, tuple)
_ENCODER = msgspec.json.Encoder()
Texts: TypeAlias = dict[bytes, str]
Unpacked = TypeVar("Unpacked")
_Packed: TypeAlias = dict[int, tuple[HistoryMessage | ToolUse, msgspec.Raw]]


class SessionCore(msgspec.Struct, frozen=True, array_like=True):
    """A session without its windows and last texts; then those texts, and the windows."""

    session: msgspec.Raw
    last: msgspec.Raw
    messages: list[msgspec.Raw]
    tools: list[msgspec.Raw]


_CORE = msgspec.json.Decoder(SessionCore)
_SESSION = msgspec.json.Decoder(Session)
_LAST = msgspec.json.Decoder(tuple[str, str, str])
_MESSAGE = msgspec.json.Decoder(HistoryMessage)
_TOOL_USE = msgspec.json.Decoder(ToolUse)


class SessionPacker:
    """Packs successive states of one session and reuses what it packed before."""

    def __init__(self) -> None:
        # By identity. Each entry holds its item, so that the id is not used for another object.
        self._packed: _Packed = {}

    def pack(self, session: Session) -> tuple[bytes, Texts]:
        """Return the core, and the long texts, some of which may be stored already."""
        texts: Texts = {}
        before, self._packed = self._packed, {}
        history, calls = session.history, session.calls
        last = (history.last_user, history.last_assistant, history.last_tool)
        core = SessionCore(
            msgspec.Raw(_pack_session(_without_windows(session), texts)),
            msgspec.Raw(_ENCODER.encode([_shorten_text(text, texts) for text in last])),
            [self._item(item, before, texts) for item in history.messages],
            [self._item(item, before, texts) for item in calls.tools],
        )
        return _ENCODER.encode(core), texts

    def _item(self, item: HistoryMessage | ToolUse, before: _Packed, texts: Texts) -> msgspec.Raw:
        found = before.get(id(item)) or (item, msgspec.Raw(_pack_item(item, texts)))
        self._packed[id(item)] = found
        return found[1]


def _without_windows(session: Session) -> Session:
    history = replace(session.history, messages=(), last_user="", last_assistant="", last_tool="")
    return replace(session, history=history, calls=replace(session.calls, tools=()))


def _pack_item(item: HistoryMessage | ToolUse, texts: Texts) -> bytes:
    if isinstance(item, HistoryMessage):
        return _ENCODER.encode(replace(item, content=_shorten_text(item.content, texts)))
    if _MARK in item.name or _MARK in item.call or item.also:
        return _ENCODER.encode(_shorten(msgspec.to_builtins(item), texts))
    arguments, result = _shorten(item.arguments, texts), _shorten(item.result, texts)
    return _ENCODER.encode(replace(item, arguments=arguments, result=result))


def _pack_session(session: Session, texts: Texts) -> bytes:
    whole = _ENCODER.encode(session)
    if len(whole) <= INLINE_BYTES and _JSON_MARK not in whole:
        return whole
    return _ENCODER.encode(_shorten(msgspec.to_builtins(session), texts))


def _shorten(value: Any, texts: Texts) -> Any:
    if isinstance(value, str):
        return _shorten_text(value, texts)
    if isinstance(value, dict):
        return {key: _shorten(item, texts) for key, item in value.items()}
    if isinstance(value, _LISTS):
        return [_shorten(item, texts) for item in value]
    return value


def _shorten_text(text: str, texts: Texts) -> str:
    if len(text) > INLINE_CHARS:
        key = _key(text)
        texts[key] = text
        return _REF + key.hex()
    return _PLAIN + text if text.startswith(_MARK) else text


@lru_cache(maxsize=32)  # the last texts of a session are in its window as well
def _key(text: str) -> bytes:
    return digest(text.encode())


def texts_of(core: bytes) -> Iterator[bytes]:
    """Yield the digests of the texts that a core refers to."""
    for found in _JSON_REF.finditer(core):
        yield bytes.fromhex(found[1].decode())


def unpack_session(
    core: bytes, find_texts: Callable[[Iterable[bytes]], Mapping[bytes, str]]
) -> Session:
    """Return the session of a core; `find_texts` returns the stored texts of digests.

    Raises MsgspecError, ValueError, TypeError or KeyError for an invalid core.
    """
    packed = _CORE.decode(core)
    texts = find_texts(set(texts_of(core)))
    session = _unpack(packed.session, _SESSION, texts)
    user, assistant, tool = _unpack(packed.last, _LAST, texts)
    history = replace(
        session.history,
        messages=tuple(_unpack(item, _MESSAGE, texts) for item in packed.messages),
        last_user=user,
        last_assistant=assistant,
        last_tool=tool,
    )
    tools = tuple(_unpack(item, _TOOL_USE, texts) for item in packed.tools)
    return replace(session, history=history, calls=replace(session.calls, tools=tools))


def _unpack(
    raw: msgspec.Raw, decoder: msgspec.json.Decoder[Unpacked], texts: Mapping[bytes, str]
) -> Unpacked:
    if _JSON_MARK not in bytes(raw):
        return decoder.decode(raw)
    return msgspec.convert(_restore(msgspec.json.decode(raw), texts), decoder.type)


def _restore(value: Any, texts: Mapping[bytes, str]) -> Any:
    if isinstance(value, str):
        if not value.startswith(_MARK):
            return value
        if value.startswith(_REF):
            return texts.get(bytes.fromhex(value.removeprefix(_REF)), ERASED)
        return value.removeprefix(_PLAIN)
    if isinstance(value, dict):
        return {key: _restore(item, texts) for key, item in value.items()}
    return [_restore(item, texts) for item in value] if isinstance(value, list) else value


# Sessions that a process keeps in memory; others are read again.
MAX_CACHED = 64
# At most this many records follow a snapshot and must be folded when it is loaded.
SNAPSHOT_EVERY = 128

_NEWEST = """
    SELECT (SELECT max(seq) FROM records WHERE session = ?1),
           (SELECT seq FROM sessions WHERE id = ?1)
"""
_SINCE = """
    SELECT r.seq, p.event, p.decision FROM records r LEFT JOIN payloads p USING (seq)
    WHERE r.session = ? AND r.seq > ? ORDER BY r.seq
"""


class CachedSession(Struct):
    """A session after its record `seq`, and the number of records after its snapshot."""

    session: Session
    seq: int = 0
    snapshot: int = 0
    since_snapshot: int = 0
    # The version of the database in which this was certainly the newest state.
    version: int = -1
    packer: SessionPacker = field(default_factory=SessionPacker)


class Sessions:
    """The sessions of one open database. Call every method inside a transaction."""

    def __init__(self, path: str, run: Callable[..., sqlite3.Cursor]) -> None:
        self._path = path
        self._run = run
        self._cached: OrderedDict[str, CachedSession] = OrderedDict()

    def newest(self, session: str, version: int) -> CachedSession:
        """Return the newest state of a session in this version of the database."""
        held = self._cached.get(session)
        if held is not None and held.version == version:
            return held
        seq, snapshot = self._run(_NEWEST, (session,)).fetchone()
        if held is None or held.snapshot != (snapshot or 0):
            held = self._load_snapshot(session) if snapshot else CachedSession(Session(id=session))
        if held.seq < (seq or 0):
            self._catch_up(held)
        held.version = version
        return held

    def read(self, session: str) -> Session:
        """Return the newest state of a session, read again; it is not kept in memory."""
        self.forget(session)
        return self.newest(session, -1).session

    def write(self, held: CachedSession, after: Session, seq: int) -> None:
        """Store the next state of a session; also write a snapshot if one is due."""
        held.session, held.seq, held.since_snapshot = after, seq, held.since_snapshot + 1
        if held.since_snapshot >= SNAPSHOT_EVERY or not held.snapshot:
            self.write_snapshot(held.packer, after, seq)
            held.snapshot, held.since_snapshot = seq, 0

    def write_snapshot(self, packer: SessionPacker, session: Session, seq: int) -> None:
        """Write the state that a session has after record `seq`, for any session."""
        core, texts = packer.pack(session)
        self._run(
            "INSERT INTO sessions VALUES (?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, core = excluded.core",
            (session.id, seq, core),
        )
        for key, text in texts.items():
            self._run("INSERT OR IGNORE INTO texts VALUES (?, ?)", (key, text))

    def keep(self, session: str, held: CachedSession) -> None:
        """Keep a session in memory after its transaction was committed."""
        self._cached[session] = held
        self._cached.move_to_end(session)
        if len(self._cached) > MAX_CACHED:
            self._cached.popitem(last=False)

    def forget(self, session: str) -> None:
        """Drop a session from memory."""
        self._cached.pop(session, None)

    def forget_all(self) -> None:
        """Drop all sessions from memory: what is stored may differ."""
        self._cached.clear()

    def _load_snapshot(self, session: str) -> CachedSession:
        seq, core = self._run("SELECT seq, core FROM sessions WHERE id = ?", (session,)).fetchone()
        try:
            return CachedSession(unpack_session(core, self._texts), seq, seq)
        except (msgspec.MsgspecError, ValueError, TypeError, KeyError) as problem:
            why = f"session `{session}` cannot be read"
            raise corrupt_journal(self._path, why) from problem

    def _catch_up(self, held: CachedSession) -> None:
        for seq, event, decision in self._run(_SINCE, (held.session.id, held.seq)).fetchall():
            if event is None:
                raise corrupt_journal(self._path, f"the payload of record {seq} is missing")
            try:
                held.session = fold(held.session, *decode_payload(event, decision))
            except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
                raise corrupt_journal(self._path, f"record {seq} cannot be read") from problem
            held.seq, held.since_snapshot = seq, held.since_snapshot + 1

    def _texts(self, wanted: Iterable[bytes]) -> Mapping[bytes, str]:
        question = "SELECT digest, text FROM texts WHERE digest = ?"
        found = (self._run(question, (key,)).fetchone() for key in wanted)
        return dict(row for row in found if row is not None)
