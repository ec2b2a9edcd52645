"""What an agent said, of a client that tells all of it since the prompt each time → what is new.

After a stop was blocked the agent goes on, and its next words stand behind the old ones. What was
judged then must not be judged again: nobody could put it right, and an old promise would count for
what was asked for after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.hosts.hooks.notes import digest_of

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Heard
    from bylaw.hosts.hooks.notes import AgentNotes


def only_new(heard: Heard, own: AgentNotes) -> Heard:
    """Without what was judged at the last stop, if that was blocked and the text begins with it."""
    if not heard.grows or heard.text is None:
        return heard
    old = heard.text[: own.judged_chars]
    if len(old) < own.judged_chars or digest_of(old) != own.judged:
        return heard
    return replace(heard, text=heard.text[len(old) :].removeprefix("\n"), judged=old)


def note_judged(heard: Heard, own: AgentNotes, *, blocked: bool) -> None:
    """Remember what was judged at a stop; one that was not blocked ends the turn."""
    own.judged_chars, own.judged = 0, ""
    if heard.grows and blocked:
        whole = "\n".join(one for one in (heard.judged, heard.text) if one)
        own.judged_chars, own.judged = len(whole), digest_of(whole)
