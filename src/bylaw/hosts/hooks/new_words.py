"""Determine which texts of a hook event are new to the rules.

    with_last_text   read the agent's last text from the transcript, if the client does not send it
    without_echo     clear a prompt that repeats the reason for a blocked stop
    earlier_texts    read from the transcript what the agent said before its last text
    only_new         cut off what was decided before, if the client sends all since the prompt

After a blocked stop the agent continues, and its next text follows the old one. Text that was
decided at that stop must not be decided again: the agent cannot correct it any more, and an old
promise would acknowledge a demand that was made after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.hosts.hooks.base import STOPS
from bylaw.hosts.hooks.notes import digest_of
from bylaw.hosts.hooks.transcripts import NOTHING_SAID, Said, last_text, said_since
from bylaw.model.vocabulary import Moment

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Heard
    from bylaw.hosts.hooks.notes import AgentNotes, SessionNotes


def with_last_text(heard: Heard, notes: SessionNotes) -> Heard:
    """Add the agent's last text from the transcript, if the client does not send it."""
    if heard.moment not in STOPS or heard.text is not None or not heard.transcript:
        return heard
    judged_until = notes.read_until.get(digest_of(heard.transcript))
    return replace(heard, text=last_text(heard.transcript, judged_until=judged_until))


def without_echo(heard: Heard, notes: SessionNotes) -> Heard:
    """Clear a prompt that repeats the reason for a blocked stop: no person wrote it."""
    is_echo = heard.text and notes.blocked_with == digest_of(heard.text)
    is_prompt = heard.moment is Moment.PROMPT
    return replace(heard, text="") if is_prompt and is_echo else heard


def earlier_texts(heard: Heard, notes: SessionNotes) -> Said:
    """Return what the agent said since the last check, except its last text.

    A new prompt starts over. A text that the client sent first and wrote to the transcript later is
    not new. A text that grows already contains everything.
    """
    if not heard.transcript or (heard.moment is Moment.PROMPT and not heard.text):
        return NOTHING_SAID
    if heard.moment is Moment.PROMPT:
        return Said((), said_since(heard.transcript, None).end)
    if heard.moment not in STOPS or heard.grows:
        return NOTHING_SAID
    said = said_since(heard.transcript, notes.read_until.get(digest_of(heard.transcript)))
    texts = said.texts
    if texts and notes.of_agent(heard.agent).last_text == digest_of(texts[0]):
        texts = texts[1:]
    last = (heard.text or "").strip()
    return Said(tuple(text for text in texts if text.strip() != last), said.end)


def only_new(heard: Heard, own: AgentNotes) -> Heard:
    """Cut off the part of the text that was decided at the last stop, if that stop was blocked."""
    if not heard.grows or heard.text is None:
        return heard
    old = heard.text[: own.judged_chars]
    if len(old) < own.judged_chars or digest_of(old) != own.judged_digest:
        return heard
    return replace(heard, text=heard.text[len(old) :].removeprefix("\n"), old_text=old)


def note_judged(heard: Heard, own: AgentNotes, *, blocked: bool) -> None:
    """Note what was decided at a stop. A stop that was not blocked ends the turn."""
    own.last_text = digest_of(heard.text) if heard.text else ""
    own.judged_chars, own.judged_digest = 0, ""
    if heard.grows and blocked:
        whole = "\n".join(one for one in (heard.old_text, heard.text) if one)
        own.judged_chars, own.judged_digest = len(whole), digest_of(whole)
