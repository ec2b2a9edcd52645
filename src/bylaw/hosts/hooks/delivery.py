"""Fit the result of a decision into one hook reply. Queue messages for the model that do not fit.

A warning is for the person, or for the model if the client shows nothing to the person. If the
client does not obey a denial of this event, both receive the reason. Only a call can wait for a
person: elsewhere, ask becomes a denial. A message is for the agent whose event caused it, and is
queued for that agent.
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
    """Return what the client receives now."""
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
        # After a stop the model may not run again, so these texts go to the client's log, too.
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
    """Add the messages that this reply can carry, and queue the others for the model."""
    if decided.refused and heard.moment in STOPS:
        # At a stop, only the reason for the block reaches the model.
        reason = "\n\n".join([decided.reason, *for_model])
        return replace(decided, reason=reason, for_person=tuple(for_person))
    if decided.refused or heard.moment not in abilities.for_model:
        # A subagent that stops has no later hook, so its messages go to the main agent.
        agent = "" if heard.moment is Moment.SUBAGENT_STOP else heard.agent
        if dropped := notes.keep_for_later(agent, for_model):
            for_person.append(
                f"dropped {number_of(dropped, 'message')} for the model: too many are queued"
            )
        for_model = []
    return replace(decided, for_model=tuple(for_model), for_person=tuple(for_person))
