"""What rules say → what this hook of this client can carry; other texts for the model wait.

A warning is for the person, or for the model where the client shows nothing to the person. A
refusal that the client does not take is told to both. Only a call can wait for a person: elsewhere
a question is a refusal. A text is for the agent whose event led to it, and waits for that one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.hosts.hooks.base import STOPS, Told
from bylaw.hosts.hooks.reasons import shown
from bylaw.model.vocabulary import Moment
from bylaw.tools.printers.wording import number_of

if TYPE_CHECKING:
    from bylaw.hosts.hooks.base import Heard
    from bylaw.hosts.hooks.hook_host import HookHost
    from bylaw.hosts.hooks.notes import SessionNotes
    from bylaw.runtime.effects import ClientAbilities


def delivered(
    heard: Heard, told: Told, host: HookHost, abilities: ClientAbilities, notes: SessionNotes
) -> Told:
    """What is told now."""
    asked = told.asked and heard.moment is Moment.BEFORE_TOOL
    objects = told.refused or (told.asked and not asked)
    refused = objects and heard.moment in abilities.denies
    for_model = [*notes.take(heard.agent), *host.for_model]
    for_person = [shown(text) for text in host.for_person]
    if objects and not refused:
        for_model.append(told.reason)
        for_person.append(told.reason)
    if heard.moment not in abilities.for_person:
        for_model += (text for text in for_person if text not in for_model)
        # After a stop there may be no model to tell any more: then it stands in the client's log.
        host.logged += for_person if heard.moment in STOPS else ()
        for_person = []
    decided = Told(refused=refused, asked=asked, reason=told.reason)
    return _carried(heard, decided, for_model, for_person, abilities, notes)


def _carried(
    heard: Heard,
    decided: Told,
    for_model: list[str],
    for_person: list[str],
    abilities: ClientAbilities,
    notes: SessionNotes,
) -> Told:
    """With the texts that this answer has room for; those for the model wait if it has none."""
    if decided.refused and heard.moment in STOPS:
        # What blocks a stop is the only text that reaches the model there.
        reason = "\n\n".join([decided.reason, *for_model])
        return replace(decided, reason=reason, for_person=tuple(for_person))
    if decided.refused or heard.moment not in abilities.for_model:
        # A subagent that stops has no next hook: the main agent is told in its place.
        agent = "" if heard.moment is Moment.SUBAGENT_STOP else heard.agent
        if dropped := notes.keep_for_later(agent, for_model):
            for_person.append(f"{number_of(dropped, 'text')} for the model dropped: too many wait")
        for_model = []
    return replace(decided, for_model=tuple(for_model), for_person=tuple(for_person))
