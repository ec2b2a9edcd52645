"""Notes that hooks keep for a session between processes, in the state folder of the root.

Rules do not read them. They hold how many stops were blocked in a row and why, messages that wait
for a hook whose answer can carry them, and what the person was already shown.

Calls of one session run in parallel, and rules may take minutes to decide a stop. So an event is
decided without a lock on the notes, and its changes are written at the end, under a short lock.
Only stops of a session wait for one another, because they are counted.
"""

from __future__ import annotations

from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct

from bylaw.hosts.hooks.closing import STOP_PATIENCE_S
from bylaw.runtime.state_folder import state_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_NOTES_BYTES = 4 << 20
MAX_WAITING = 100
MAX_TOLD = 100
MAX_TRANSCRIPTS = 20  # subagents have their own
MAX_AGENTS = 100
MAX_WAITING_CHARS = 200_000


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


class WaitingText(NamedTuple):
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
    waiting: list[WaitingText] = []
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

    def has_read(self, transcript: str, until: int) -> None:
        """Note how far a transcript was read. Only what follows is new."""
        kept = [one for one in self.read_until.items() if one[0] != digest_of(transcript)]
        self.read_until = dict([*kept, (digest_of(transcript), until)][-MAX_TRANSCRIPTS:])

    def once(self, texts: list[str]) -> list[str]:
        """Return the texts that were not shown in this session before, and note them."""
        new = [text for text in dict.fromkeys(texts) if text not in self.told]
        self.told = [*self.told, *new][-MAX_TOLD:]
        return new

    def keep_for_later(self, agent: str, texts: list[str]) -> int:
        """Queue messages for an agent. Return how many of all were dropped: the newest are kept."""
        kept: list[WaitingText] = []
        size = 0
        for one in reversed([*self.waiting, *(WaitingText(agent, text) for text in texts)]):
            size += len(one.text)
            if len(kept) == MAX_WAITING or size > MAX_WAITING_CHARS:
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


def digest_of(text: str) -> str:
    """Return the digest by which a text is recognised."""
    return sha256(text.strip().encode("utf-8", "backslashreplace")).hexdigest()


def notes_file(what: str, session: str) -> str:
    """Return the name of a file in the state folder that belongs to one session."""
    return f"{what}-{sha256(session.encode()).hexdigest()[:32]}.json"


def read_notes(root: str, session: str) -> SessionNotes:
    """Return the notes of a session as they are now. Another process may change them."""
    with state_folder(root) as folder:
        return _decoded(folder.read(notes_file("hook", session), MAX_NOTES_BYTES))


@contextmanager
def changing_notes(root: str, session: str) -> Iterator[SessionNotes]:
    """Lock the notes of a session, and write them back if they changed."""
    name = notes_file("hook", session)
    with state_folder(root) as folder, folder.locked(name):
        notes = _decoded(folder.read(name, MAX_NOTES_BYTES))
        before = msgspec.json.encode(notes)
        yield notes
        after = msgspec.json.encode(notes)
        if after != before:
            folder.write(name, after, lasting=False)


@contextmanager
def one_stop_at_a_time(root: str, session: str) -> Iterator[None]:
    """Let only one stop of a session be decided at a time.

    This can be long, because commands may run.
    """
    name = notes_file("hook-stop", session)
    with state_folder(root) as folder, folder.locked(name, STOP_PATIENCE_S):
        yield


def _decoded(data: bytes | None) -> SessionNotes:
    try:
        return SessionNotes() if data is None else msgspec.json.decode(data, type=SessionNotes)
    except msgspec.MsgspecError:
        return SessionNotes()  # only counts and messages are lost, no rule
