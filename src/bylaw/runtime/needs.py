"""A decision that needs facts → the facts on the event, and the decision.

Whoever can find out a fact offers a gatherer for its name. What nobody can find out is unknown,
and what is asked again and again is missing: either way the rule has a guard error, which the
event records, so that the decision can be made again from what was recorded.
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

# As Python programs know it.
LOGGER = "bylaw"
# Gathering has to end, whatever a check asks for.
MAX_ASKING = 4
MAX_SCRIPT_ROUNDS = 256

# The event and a need → the event's facts with the answer, or None for unknown.
Gatherer: TypeAlias = Callable[[Event, Need], Facts | None]
Gatherers: TypeAlias = Mapping[NeedName, Gatherer]
NO_GATHERERS: Gatherers = MappingProxyType({})


def decide_with_facts(
    rules: RuleSet, session: Session, event: Event, gatherers: Gatherers = NO_GATHERERS
) -> tuple[Event, Decision]:
    """The decision, and the event with every fact that it rests on."""
    asking = Asking()
    while isinstance(answer := decide(rules, session, event), Needs):
        event = asking.answered(event, answer.needs, gatherers)
    return event, answer


class Asking:
    """How often was asked about one event.

    A script may read what an earlier rule of the same event wrote, so that scripts are run one
    after the other: such a round settles a rule for good and does not count among the few.
    """

    def __init__(self) -> None:
        self.rounds = 0
        self._scripts = 0

    def answered(self, event: Event, needs: tuple[Need, ...], gatherers: Gatherers) -> Event:
        """The event with these facts, or without hope of any."""
        if all(need.call is not None for need in needs) and self._scripts < MAX_SCRIPT_ROUNDS:
            self._scripts += 1
        else:
            self.rounds += 1
        if self.rounds > MAX_ASKING:
            return with_unknown(event, NO_MORE_FACTS)
        return gathered(event, needs, gatherers)


def gathered(event: Event, needs: tuple[Need, ...], gatherers: Gatherers) -> Event:
    """The event with these facts; what nobody can find out is unknown."""
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
    """Beside the record: what the event says must be the same when it is decided again."""
    import logging  # noqa: PLC0415 - takes time that every start of a hook would need

    what = visible(brief(f"{need.name}:{need.key}"))
    text = "`%s` is unknown, because finding it out failed"
    logging.getLogger(LOGGER).error(text, what, exc_info=problem)


def with_unknown(event: Event, what: str) -> Event:
    """The event, saying that a fact cannot be had."""
    unknown = (*event.facts.unknown, what)
    return replace(event, facts=replace(event.facts, unknown=unknown))
