"""Treat a subagent with a session of its own as an agent of the session that started it.

Only the start of such a session names the session that started it. So the link between them is kept
in the state folder of the root. A session without a link is on its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from bylaw.hosts.hooks.session_names import own_id, session_name
from bylaw.model.vocabulary import Moment
from bylaw.runtime.state_folder import existing_state_folder, state_folder

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Heard

FILE = "hook-subagents.json"
MAX_LINKS = 1000  # the oldest are removed
MAX_NAME = 200  # characters; no client has longer session ids
MAX_BYTES = 4 << 20

# The prompt of a subagent is not from a person, and the main session outlives the subagent.
_OF_SESSIONS = (Moment.SESSION_START, Moment.PROMPT, Moment.SESSION_END)


def in_session_of_parent(root: str, host: str, heard: Heard) -> Heard:
    """Return an event of a subagent as one of its main session, and other events unchanged."""
    if not heard.session:
        return heard
    session = session_name(host, heard.session)
    if heard.parent:
        link(root, session, session_name(host, heard.parent))
    main = main_session(root, session)
    if main == session:
        return heard
    found = replace(heard, session=own_id(main), agent=heard.agent or heard.session)
    if heard.moment in _OF_SESSIONS:
        return replace(found, moment=Moment.OTHER, passed_over=True)
    return replace(found, moment=Moment.SUBAGENT_STOP) if heard.moment is Moment.STOP else found


def link(root: str, session: str, parent: str) -> None:
    """Note which session started a session. Links that would form a cycle are ignored."""
    if max(len(session), len(parent)) > MAX_NAME:
        return
    with state_folder(root) as folder, folder.locked(FILE):
        links = _decoded(folder.read(FILE, MAX_BYTES))
        main = _followed(links, parent)
        if main == session or links.get(session) == main:
            return
        links.pop(session, None)
        kept = dict([*links.items(), (session, main)][-MAX_LINKS:])
        folder.write(FILE, msgspec.json.encode(kept), lasting=False)


def main_session(root: str, session: str) -> str:
    """Return the session that a session belongs to. Usually that is the session itself."""
    with existing_state_folder(root) as folder:
        found = None if folder is None else folder.read(FILE, MAX_BYTES)
    return _followed(_decoded(found), session)


def _followed(links: dict[str, str], session: str) -> str:
    for _ in links:  # at most: the file may contain a cycle
        if session not in links:
            break
        session = links[session]
    return session


def _decoded(data: bytes | None) -> dict[str, str]:
    try:
        return {} if data is None else msgspec.json.decode(data, type=dict[str, str])
    except msgspec.MsgspecError:
        return {}  # a running subagent then becomes a session of its own
