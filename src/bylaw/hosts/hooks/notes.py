"""Notes that hooks keep for a session between processes, in the state folder of the root.

Rules do not read them. They hold how many stops were blocked in a row and why, queued messages, and
what the person was already shown. An event is decided without a lock on the notes, and its changes
are written at the end, under a short lock. Only stops of a session wait for one another.

If a client gives a subagent a session of its own, a link to the session that started it is kept,
and events of the subagent are treated as events of that session.
"""

from __future__ import annotations

from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from bylaw.hosts.clients.fail_closed import STOP_PATIENCE_S
from bylaw.model.event import DEFAULT_SESSION
from bylaw.model.vocabulary import HookPoint
from bylaw.store.state_folder import existing_state_folder, state_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bylaw.hosts.clients.base import HookEvent

MAX_NOTES_BYTES = 4 << 20
MAX_QUEUED = 100
MAX_SHOWN = 100
MAX_TRANSCRIPTS = 20  # subagents have their own
MAX_AGENTS = 100
MAX_QUEUED_CHARS = 200_000


class AgentNotes(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Notes of the main agent or a subagent: stops that were blocked since a person's last prompt.

    `in_a_row` counts blocks by Bylaw, `of_others` those that the client reports from before.
    `last_text` is the digest of the agent's text at its last stop: a client may write it to the
    transcript later. `judged_digest` and `judged_chars` describe the text that was decided at a
    blocked stop, if the client sends a text that grows.
    """

    in_a_row: int = 0
    of_others: int = 0
    last_text: str = ""
    judged_digest: str = ""
    judged_chars: int = 0


class QueuedText(NamedTuple):
    """A message for the model of an agent."""

    agent: str
    text: str


class SessionNotes(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Notes of a session. `agents` is keyed by agent id; the main agent has the empty id.

    `waiting` are messages for the models of agents. `blocked_with` is the digest of the reason why
    the last stop was blocked, empty if it was not. `told` are texts that the person was already
    shown. `read_until` is how far each transcript was read.
    """

    agents: dict[str, AgentNotes] = {}
    blocked_with: str = ""
    waiting: list[QueuedText] = []
    told: list[str] = []
    read_until: dict[str, int] = {}

    def of_agent(self, agent: str) -> AgentNotes:
        """Return the notes of an agent, for reading only."""
        return self.agents.get(agent) or AgentNotes()

    def newest(self, agent: str) -> AgentNotes:
        """Return the notes of an agent, for changing.

        Of too many agents, the least recent are dropped.
        """
        found = self.agents.pop(agent, None) or AgentNotes()
        self.agents = dict([*self.agents.items(), (agent, found)][-MAX_AGENTS:])
        return found

    def forget_blocks(self) -> None:
        """Reset the counts of all agents, because a person wrote a prompt."""
        for one in self.agents.values():
            one.in_a_row = one.of_others = one.judged_chars = 0
            one.judged_digest = ""

    def note_read(self, transcript: str, until: int) -> None:
        """Note how far a transcript was read. Only what follows is new."""
        kept = [one for one in self.read_until.items() if one[0] != text_digest(transcript)]
        self.read_until = dict([*kept, (text_digest(transcript), until)][-MAX_TRANSCRIPTS:])

    def once(self, texts: list[str]) -> list[str]:
        """Return the texts that were not shown in this session before, and note them."""
        new = [text for text in dict.fromkeys(texts) if text not in self.told]
        self.told = [*self.told, *new][-MAX_SHOWN:]
        return new

    def queue_messages(self, agent: str, texts: list[str]) -> int:
        """Queue messages for an agent. Return how many of all were dropped: the newest are kept."""
        kept: list[QueuedText] = []
        size = 0
        for one in reversed([*self.waiting, *(QueuedText(agent, text) for text in texts)]):
            size += len(one.text)
            if len(kept) == MAX_QUEUED or size > MAX_QUEUED_CHARS:
                break
            kept.append(one)
        dropped = len(self.waiting) + len(texts) - len(kept)
        self.waiting = kept[::-1]
        return dropped

    def take(self, agent: str) -> list[str]:
        """Remove the queued messages of an agent and return them."""
        taken = [one.text for one in self.waiting if one.agent == agent]
        self.waiting = [one for one in self.waiting if one.agent != agent]
        return taken


def text_digest(text: str) -> str:
    """Return the digest by which a text is recognised."""
    return sha256(text.strip().encode("utf-8", "backslashreplace")).hexdigest()


def notes_file(what: str, session: str) -> str:
    """Return the name of a file in the state folder that belongs to one session."""
    return f"{what}-{sha256(session.encode()).hexdigest()[:32]}.json"


def read_notes(root: str, session: str) -> SessionNotes:
    """Return the notes of a session as they are now. Another process may change them."""
    with state_folder(root) as folder:
        return _decode_notes(folder.read(notes_file("hook", session), MAX_NOTES_BYTES))


@contextmanager
def update_notes(root: str, session: str) -> Iterator[SessionNotes]:
    """Lock the notes of a session, and write them back if they changed."""
    name = notes_file("hook", session)
    with state_folder(root) as folder, folder.lock(name):
        notes = _decode_notes(folder.read(name, MAX_NOTES_BYTES))
        before = msgspec.json.encode(notes)
        yield notes
        after = msgspec.json.encode(notes)
        if after != before:
            folder.write(name, after, lasting=False)


@contextmanager
def lock_stop(root: str, session: str) -> Iterator[None]:
    """Let only one stop of a session be decided at a time.

    This can be long, because commands may run.
    """
    name = notes_file("hook-stop", session)
    with state_folder(root) as folder, folder.lock(name, STOP_PATIENCE_S):
        yield


def _decode_notes(data: bytes | None) -> SessionNotes:
    try:
        return SessionNotes() if data is None else msgspec.json.decode(data, type=SessionNotes)
    except msgspec.MsgspecError:
        return SessionNotes()  # only counts and messages are lost, no rule


def session_name(host: str, own_id: str) -> str:
    """Return the name in the journal. Sessions without an id share one name per client."""
    return f"{host}:{own_id or DEFAULT_SESSION}"


def client_session_id(session: str) -> str:
    """Return the client's id."""
    return session.partition(":")[2]


LINKS_FILE = "hook-subagents.json"
MAX_LINKS = 1000  # the oldest are removed
MAX_SESSION_NAME = 200  # characters; no client has longer session ids
MAX_LINKS_BYTES = 4 << 20

# The prompt of a subagent is not from a person, and the main session outlives the subagent.
_MAIN_SESSION_ONLY = (HookPoint.SESSION_START, HookPoint.PROMPT, HookPoint.SESSION_END)


def to_main_session(root: str, host: str, heard: HookEvent) -> HookEvent:
    """Return an event of a subagent as one of its main session, and other events unchanged."""
    if not heard.session:
        return heard
    session = session_name(host, heard.session)
    if heard.parent:
        link_session(root, session, session_name(host, heard.parent))
    main = main_session(root, session)
    if main == session:
        return heard
    found = replace(heard, session=client_session_id(main), agent=heard.agent or heard.session)
    if heard.moment in _MAIN_SESSION_ONLY:
        return replace(found, moment=HookPoint.OTHER, passed_over=True)
    return (
        replace(found, moment=HookPoint.SUBAGENT_STOP) if heard.moment is HookPoint.STOP else found
    )


def link_session(root: str, session: str, parent: str) -> None:
    """Note which session started a session. Links that would form a cycle are ignored."""
    if max(len(session), len(parent)) > MAX_SESSION_NAME:
        return
    with state_folder(root) as folder, folder.lock(LINKS_FILE):
        links = _decode_links(folder.read(LINKS_FILE, MAX_LINKS_BYTES))
        main = _follow_links(links, parent)
        if main == session or links.get(session) == main:
            return
        links.pop(session, None)
        kept = dict([*links.items(), (session, main)][-MAX_LINKS:])
        folder.write(LINKS_FILE, msgspec.json.encode(kept), lasting=False)


def main_session(root: str, session: str) -> str:
    """Return the session that a session belongs to. Usually that is the session itself."""
    with existing_state_folder(root) as folder:
        found = None if folder is None else folder.read(LINKS_FILE, MAX_LINKS_BYTES)
    return _follow_links(_decode_links(found), session)


def _follow_links(links: dict[str, str], session: str) -> str:
    for _ in links:  # at most: the file may contain a cycle
        if session not in links:
            break
        session = links[session]
    return session


def _decode_links(data: bytes | None) -> dict[str, str]:
    try:
        return {} if data is None else msgspec.json.decode(data, type=dict[str, str])
    except msgspec.MsgspecError:
        return {}  # a running subagent then becomes a session of its own
