"""Add the facts of the settings table `[model]` to an event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

if TYPE_CHECKING:
    from bylaw.model.event import Event
    from bylaw.runtime.settings.tables import ModelSettings


def with_model_facts(event: Event, model: ModelSettings) -> Event:
    """Add token budget and context window, unless the event has its own."""
    facts = event.facts
    if model.token_budget is not None and facts.token_budget is UNSET:
        facts = replace(facts, token_budget=model.token_budget)
    if model.context_window is not None and facts.context_window is UNSET:
        facts = replace(facts, context_window=model.context_window)
    return event if facts is event.facts else replace(event, facts=facts)
