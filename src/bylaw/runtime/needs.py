"""Gather the facts that a decision needs, and decide again.

A host offers a gatherer for each fact that it can determine. A fact without a gatherer is unknown,
and a fact that is requested too often is missing. In both cases the rule has a guard error, which
the event records, so that the decision can be replayed from what was recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from bylaw.engine.decide import decide
from bylaw.engine.view import NO_MORE_FACTS
from bylaw.model.decision import Decision, Need, NeedName, Needs
from bylaw.model.event import Event
from bylaw.model.facts import Facts
from bylaw.model.visible import brief, visible

if TYPE_CHECKING:
    from bylaw.engine.index import RuleSet
    from bylaw.model.session import Session

# The logger name that Python programs use.
LOGGER = "bylaw"
# Gathering must end, even if a guard always requests more.
MAX_ASKING = 4
MAX_SCRIPT_ROUNDS = 256

# Takes the event and a need; returns the facts with the answer, or None for unknown.
Gatherer: TypeAlias = Callable[[Event, Need], Facts | None]
Gatherers: TypeAlias = Mapping[NeedName, Gatherer]
NO_GATHERERS: Gatherers = MappingProxyType({})


def decide_with_facts(
    rules: RuleSet, session: Session, event: Event, gatherers: Gatherers = NO_GATHERERS
) -> tuple[Event, Decision]:
    """Return the decision, and the event with every fact that it depends on."""
    asking = Asking()
    while isinstance(answer := decide(rules, session, event), Needs):
        event = asking.answered(event, answer.needs, gatherers)
    return event, answer


class Asking:
    """Counts how often facts were requested for one event.

    A script may read what an earlier rule of the same event wrote, so scripts run one after the
    other. Such a round makes progress for certain, so it has a limit of its own.
    """

    def __init__(self) -> None:
        self.rounds = 0
        self._scripts = 0

    def answered(self, event: Event, needs: tuple[Need, ...], gatherers: Gatherers) -> Event:
        """Return the event with these facts, or marked so that no more facts are requested."""
        if all(need.call is not None for need in needs) and self._scripts < MAX_SCRIPT_ROUNDS:
            self._scripts += 1
        else:
            self.rounds += 1
        if self.rounds > MAX_ASKING:
            return with_unknown(event, NO_MORE_FACTS)
        return gathered(event, needs, gatherers)


def gathered(event: Event, needs: tuple[Need, ...], gatherers: Gatherers) -> Event:
    """Return the event with these facts; a fact that cannot be gathered is unknown."""
    for need in needs:
        facts = _found_out(event, need, gatherers.get(need.name))
        if facts is None:
            event = with_unknown(event, f"{need.name}:{need.key}")
        else:
            event = replace(event, facts=facts)
    return event


def _found_out(event: Event, need: Need, gather: Gatherer | None) -> Facts | None:
    try:
        return None if gather is None else gather(event, need)
    except Exception as problem:  # noqa: BLE001 - a host's code may raise anything
        _log_failure(need, problem)
        return None


def _log_failure(need: Need, problem: Exception) -> None:
    """Log the failure outside the journal: a replay of the event must give the same result."""
    import logging  # noqa: PLC0415 - importing it would slow down every hook

    what = visible(brief(f"{need.name}:{need.key}"))
    text = "`%s` is unknown because gathering it failed"
    logging.getLogger(LOGGER).error(text, what, exc_info=problem)


def with_unknown(event: Event, what: str) -> Event:
    """Return the event with a note that a fact is not available."""
    unknown = (*event.facts.unknown, what)
    return replace(event, facts=replace(event.facts, unknown=unknown))
