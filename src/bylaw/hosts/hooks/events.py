"""Hook event → Bylaw events, in the order in which they are submitted: see `KINDS_AT`.

If one of them is denied, the following ones are not submitted: they do not happen. Paths of a call
are made relative to the root, so that one rule works in all clients.

Text that was decided at a blocked stop must not be decided again: the agent cannot correct it any
more, and an old promise would acknowledge a demand that was made after it. So this file also
determines which texts of a hook event are new. Some are only in the client's transcript.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.hosts.clients.base import STOPS
from bylaw.hosts.clients.tools import (
    FETCHES,
    READS_FILES,
    RUNS_AGENT,
    SEARCHES,
    USES_WEB,
    WRITES_FILES,
)
from bylaw.hosts.clients.transcripts import NO_AGENT_TEXT, AgentText, last_text, texts_since
from bylaw.hosts.hooks.notes import text_digest
from bylaw.model.event import (
    AgentStop,
    Message,
    Prompt,
    SessionEnd,
    SessionStart,
    ToolAfter,
    ToolBefore,
    TurnEnd,
    TurnStart,
)
from bylaw.model.values import as_text
from bylaw.model.vocabulary import HookPoint, Kind, Role
from bylaw.runtime.effects import KINDS_AT
from bylaw.store.paths import real_path, relative_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bylaw.hosts.clients.base import Call, HookEvent
    from bylaw.hosts.hooks.notes import AgentNotes, SessionNotes
    from bylaw.model.event import Event
    from bylaw.model.values import JSON

GATE_EVENTS = (Prompt, TurnStart, ToolBefore)


def events_of(heard: HookEvent) -> tuple[Event, ...]:
    """Return the events that a hook event leads to."""
    # Some clients announce that a turn continues with an empty prompt. No person wrote it.
    if heard.moment is HookPoint.PROMPT and not heard.text:
        return ()
    made = (_MAKERS[kind](heard) for kind in KINDS_AT[heard.moment])
    return tuple(one for one in made if one is not None)


def _message(heard: HookEvent) -> Event | None:
    """Return the message of the person, the tool or the agent; None if the agent said nothing."""
    if heard.call is not None:
        text = as_text(heard.call.result) or heard.call.error
        return Message(role=Role.TOOL, text=text)
    role = Role.USER if heard.moment is HookPoint.PROMPT else Role.ASSISTANT
    return Message(role=role, text=heard.text) if heard.text else None


def _tool_before(heard: HookEvent) -> Event:
    call = _call(heard)
    return ToolBefore(tool=call.tool, also=call.also, args=call.args, call=call.id)


def _tool_after(heard: HookEvent) -> Event:
    call = _call(heard)
    assert call.status is not None
    return ToolAfter(
        tool=call.tool,
        also=call.also,
        args=call.args,
        call=call.id,
        status=call.status,
        result=call.result,
        error=call.error,
        ms=call.ms,
    )


def _call(heard: HookEvent) -> Call:
    assert heard.call is not None
    return heard.call


_MAKERS: Mapping[Kind, Callable[[HookEvent], Event | None]] = {
    Kind.SESSION_START: lambda _: SessionStart(),
    Kind.PROMPT: lambda heard: Prompt(text=heard.text or ""),
    Kind.MESSAGE: _message,
    Kind.TURN_START: lambda _: TurnStart(),
    Kind.TOOL_BEFORE: _tool_before,
    Kind.TOOL_AFTER: _tool_after,
    Kind.TURN_END: lambda heard: TurnEnd(text=heard.text or ""),
    Kind.AGENT_STOP: lambda heard: AgentStop(text=heard.text or "", each=True),
    Kind.SESSION_END: lambda _: SessionEnd(),
}


def add_last_text(heard: HookEvent, notes: SessionNotes) -> HookEvent:
    """Add the agent's last text from the transcript, if the client does not send it."""
    if heard.moment not in STOPS or heard.text is not None or not heard.transcript:
        return heard
    judged_until = notes.read_until.get(text_digest(heard.transcript))
    return replace(heard, text=last_text(heard.transcript, judged_until=judged_until))


def clear_echo(heard: HookEvent, notes: SessionNotes) -> HookEvent:
    """Clear a prompt that repeats the reason for a blocked stop: no person wrote it."""
    is_echo = heard.text and notes.blocked_with == text_digest(heard.text)
    is_prompt = heard.moment is HookPoint.PROMPT
    return replace(heard, text="") if is_prompt and is_echo else heard


def earlier_texts(heard: HookEvent, notes: SessionNotes) -> AgentText:
    """Return what the agent said since the last check, except its last text.

    A new prompt starts over. A text that the client sent first and wrote to the transcript later is
    not new. A text that grows already contains everything.
    """
    if not heard.transcript or (heard.moment is HookPoint.PROMPT and not heard.text):
        return NO_AGENT_TEXT
    if heard.moment is HookPoint.PROMPT:
        return AgentText((), texts_since(heard.transcript, None).end)
    if heard.moment not in STOPS or heard.grows:
        return NO_AGENT_TEXT
    said = texts_since(heard.transcript, notes.read_until.get(text_digest(heard.transcript)))
    texts = said.texts
    if texts and notes.of_agent(heard.agent).last_text == text_digest(texts[0]):
        texts = texts[1:]
    last = (heard.text or "").strip()
    return AgentText(tuple(text for text in texts if text.strip() != last), said.end)


def cut_old_text(heard: HookEvent, own: AgentNotes) -> HookEvent:
    """Cut off the part of the text that was decided at the last stop, if that stop was blocked."""
    if not heard.grows or heard.text is None:
        return heard
    old = heard.text[: own.judged_chars]
    if len(old) < own.judged_chars or text_digest(old) != own.judged_digest:
        return heard
    return replace(heard, text=heard.text[len(old) :].removeprefix("\n"), old_text=old)


def note_decided_text(heard: HookEvent, own: AgentNotes, *, blocked: bool) -> None:
    """Note what was decided at a stop. A stop that was not blocked ends the turn."""
    own.last_text = text_digest(heard.text) if heard.text else ""
    own.judged_chars, own.judged_digest = 0, ""
    if heard.grows and blocked:
        whole = "\n".join(one for one in (heard.old_text, heard.text) if one)
        own.judged_chars, own.judged_digest = len(whole), text_digest(whole)


MAX_PATH = 4_096  # characters; a longer path is accepted only if it can be shortened
# Bylaw sets `paths` for these. Other tools may have an argument of that name.
_FILE_TOOLS = frozenset({WRITES_FILES, READS_FILES})
# Tools with these names change no files themselves.
_CHANGES_NOTHING = frozenset({READS_FILES, FETCHES, SEARCHES, USES_WEB, RUNS_AGENT})


def may_change_files(call: Call) -> bool:
    """Return whether a call can change a file. An unknown tool is assumed to."""
    return not call.also or not _CHANGES_NOTHING.issuperset(call.also)


def named_paths(call: Call) -> Iterator[str]:
    """Yield the files that a tool for writing files names."""
    named = call.args.get("paths") if WRITES_FILES in call.also else None
    for one in named if isinstance(named, list) else ():
        if isinstance(one, str):
            yield one


def location_of(path: str, folder: str) -> str | None:
    """Return the full path of a file that a tool names in a folder; None if it cannot exist."""
    full = os.path.join(folder, os.path.expanduser(path))  # noqa: PTH111, PTH118 - only text
    if len(path) <= MAX_PATH:
        return full
    # The system rejects such a path, so it names a file only if the client shortens it.
    shortened = os.path.normpath(full)
    return shortened if len(shortened) <= MAX_PATH else None


def make_paths_relative(heard: HookEvent, root: str) -> HookEvent:
    """Return the event with the paths of its call as rules and records have them."""
    call = heard.call
    if call is None or not _FILE_TOOLS.intersection(call.also):
        return heard
    named = call.args.get("paths")
    top = real_path(root)
    paths: list[JSON] = [
        *dict.fromkeys(
            path_below(top, path, heard.cwd) or path
            for path in (named if isinstance(named, list) else ())
            if isinstance(path, str)
        )
    ]
    return replace(heard, call=replace(call, args={**call.args, "paths": paths}))


def path_below(top: str, path: str, folder: str) -> str:
    """Return a path that is named in a folder, relative to `top`; empty if it is not below `top`.

    A link is located where it is, not where it points to: a tool is asked to change that place.
    """
    location = location_of(path, folder)
    if location is None or "\0" in location:
        return ""
    above, _, name = location.rpartition("/")
    if name in {"", ".", ".."}:
        return relative_name(top, real_path(location))
    return relative_name(top, f"{real_path(above or '/')}/{name}")
