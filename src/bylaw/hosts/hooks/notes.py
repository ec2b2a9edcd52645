"""What hooks remember of a session from one process to the next, in the state folder of its root.

It is no part of what rules read: how often stops were blocked in a row and with what, texts for a
model that wait for a hook whose answer can carry them, and what the person was told already.

Calls of one session run side by side, and rules may take minutes to judge a stop. So an event is
judged without the notes, and what it changes in them is changed at its end, in a moment. Only stops
of a session wait for one another: they are counted.
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
    """Of the main agent or a subagent: stops that were blocked since a person last spoke.

    `in_a_row` counts ours, `of_others` those that the client says were blocked before. `last_text`
    is the digest of what the agent said at its last stop: a client may write it down later.
    `judged_digest` and `judged_chars` are about what was judged at a blocked stop, of a text that
    grows.
    """

    in_a_row: int = 0
    of_others: int = 0
    last_text: str = ""
    judged_digest: str = ""
    judged_chars: int = 0


class WaitingText(NamedTuple):
    """What the model of an agent is to be told."""

    agent: str
    text: str


class SessionNotes(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`agents` by their ids, the main one by the empty text; `waiting`: texts for their models.

    `blocked_with` is the digest of what the last stop was blocked with, empty if it was not; `told`
    is what the person need not hear again. `read_until` says how far each transcript was read.
    """

    agents: dict[str, AgentNotes] = {}
    blocked_with: str = ""
    waiting: list[WaitingText] = []
    told: list[str] = []
    read_until: dict[str, int] = {}

    def of_agent(self, agent: str) -> AgentNotes:
        """What is noted of an agent, to be read."""
        return self.agents.get(agent) or AgentNotes()

    def newest(self, agent: str) -> AgentNotes:
        """What is noted of an agent, to be changed; of too many agents those are kept that were."""
        found = self.agents.pop(agent, None) or AgentNotes()
        self.agents = dict([*self.agents.items(), (agent, found)][-MAX_AGENTS:])
        return found

    def forget_blocks(self) -> None:
        """A person speaks: whatever was blocked before is over."""
        for one in self.agents.values():
            one.in_a_row = one.of_others = one.judged_chars = 0
            one.judged_digest = ""

    def has_read(self, transcript: str, until: int) -> None:
        """What comes from now on is new."""
        kept = [one for one in self.read_until.items() if one[0] != digest_of(transcript)]
        self.read_until = dict([*kept, (digest_of(transcript), until)][-MAX_TRANSCRIPTS:])

    def once(self, texts: list[str]) -> list[str]:
        """Those that were not told in this session before."""
        new = [text for text in dict.fromkeys(texts) if text not in self.told]
        self.told = [*self.told, *new][-MAX_TOLD:]
        return new

    def keep_for_later(self, agent: str, texts: list[str]) -> int:
        """Keep texts for an agent; of too many for all the newest: how many were dropped."""
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
        """What waits for an agent, taken away."""
        taken = [one.text for one in self.waiting if one.agent == agent]
        self.waiting = [one for one in self.waiting if one.agent != agent]
        return taken


def digest_of(text: str) -> str:
    """A text, as it is known again."""
    return sha256(text.strip().encode("utf-8", "backslashreplace")).hexdigest()


def notes_file(what: str, session: str) -> str:
    """The name of a file of the state folder that is about one session."""
    return f"{what}-{sha256(session.encode()).hexdigest()[:32]}.json"


def read_notes(root: str, session: str) -> SessionNotes:
    """The notes of a session as they are now; another process may change them."""
    with state_folder(root) as folder:
        return _decoded(folder.read(notes_file("hook", session), MAX_NOTES_BYTES))


@contextmanager
def changing_notes(root: str, session: str) -> Iterator[SessionNotes]:
    """The notes of a session, written back if they changed; no other process has them meanwhile."""
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
    """While this lasts no other stop of a session is judged; commands may run meanwhile."""
    name = notes_file("hook-stop", session)
    with state_folder(root) as folder, folder.locked(name, STOP_PATIENCE_S):
        yield


def _decoded(data: bytes | None) -> SessionNotes:
    try:
        return SessionNotes() if data is None else msgspec.json.decode(data, type=SessionNotes)
    except msgspec.MsgspecError:
        return SessionNotes()  # what is lost is a count and texts, no rule
