"""What was said, as a client tells it or writes it down → what of it is new to the rules.

    with_last_text   what the agent said last stands in its transcript only
    without_echo     a prompt repeats what blocked a stop
    earlier_texts    what the agent said before its last words stands in the transcript
    only_new         the client tells all that was said since the prompt, each time

After a stop was blocked the agent goes on, and its next words stand behind the old ones. What was
judged then must not be judged again: nobody could put it right, and an old promise would count for
what was asked for after it.
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
    """With what the agent said last, where the client only writes it down."""
    if heard.moment not in STOPS or heard.text is not None or not heard.transcript:
        return heard
    judged_until = notes.read_until.get(digest_of(heard.transcript))
    return replace(heard, text=last_text(heard.transcript, judged_until=judged_until))


def without_echo(heard: Heard, notes: SessionNotes) -> Heard:
    """Some clients announce what blocked a stop as a prompt; no person has written that."""
    is_echo = heard.text and notes.blocked_with == digest_of(heard.text)
    is_prompt = heard.moment is Moment.PROMPT
    return replace(heard, text="") if is_prompt and is_echo else heard


def earlier_texts(heard: Heard, notes: SessionNotes) -> Said:
    """What the agent said since it was last judged, before the last that it said.

    A new prompt begins anew. What a client told us at once and wrote down later is not new. A text
    that grows holds everything.
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
    """Without what was judged at the last stop, if that was blocked and the text begins with it."""
    if not heard.grows or heard.text is None:
        return heard
    old = heard.text[: own.judged_chars]
    if len(old) < own.judged_chars or digest_of(old) != own.judged_digest:
        return heard
    return replace(heard, text=heard.text[len(old) :].removeprefix("\n"), old_text=old)


def note_judged(heard: Heard, own: AgentNotes, *, blocked: bool) -> None:
    """Remember what was judged at a stop; one that was not blocked ends the turn."""
    own.last_text = digest_of(heard.text) if heard.text else ""
    own.judged_chars, own.judged_digest = 0, ""
    if heard.grows and blocked:
        whole = "\n".join(one for one in (heard.old_text, heard.text) if one)
        own.judged_chars, own.judged_digest = len(whole), digest_of(whole)
