"""Gather the facts that a decision needs, and decide again; add facts about model and session.

A host offers a gatherer for each fact that it can determine. A fact without a gatherer is unknown,
and a fact that is requested too often is missing. In both cases the rule has a guard error, which
the event records, so that the decision can be replayed. `session_state` is the public format of
`bylaw decide --state`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from msgspec import UNSET
from msgspec.structs import replace

from bylaw.engine.decide import decide
from bylaw.engine.view import NO_MORE_FACTS
from bylaw.model.decision import Decision, Need, NeedName, Needs
from bylaw.model.display import brief, visible
from bylaw.model.event import Event
from bylaw.model.facts import Facts

if TYPE_CHECKING:
    from bylaw.engine.index import RuleSet
    from bylaw.model.session import EnabledNames, Session
    from bylaw.model.values import JSON
    from bylaw.runtime.settings import ModelSettings

# The logger name that Python programs use.
LOGGER = "bylaw"
# Gathering must end, even if a guard always requests more.
MAX_ROUNDS = 4
MAX_SCRIPT_ROUNDS = 256

# Takes the event and a need; returns the facts with the answer, or None for unknown.
Gatherer: TypeAlias = Callable[[Event, Need], Facts | None]
Gatherers: TypeAlias = Mapping[NeedName, Gatherer]
NO_GATHERERS: Gatherers = MappingProxyType({})


def decide_with_facts(
    rules: RuleSet, session: Session, event: Event, gatherers: Gatherers = NO_GATHERERS
) -> tuple[Event, Decision]:
    """Return the decision, and the event with every fact that it depends on."""
    asking = NeedCounter()
    while isinstance(answer := decide(rules, session, event), Needs):
        event = asking.answered(event, answer.needs, gatherers)
    return event, answer


class NeedCounter:
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
        if self.rounds > MAX_ROUNDS:
            return with_unknown(event, NO_MORE_FACTS)
        return gather_facts(event, needs, gatherers)


def gather_facts(event: Event, needs: tuple[Need, ...], gatherers: Gatherers) -> Event:
    """Return the event with these facts; a fact that cannot be gathered is unknown."""
    for need in needs:
        facts = _gather_fact(event, need, gatherers.get(need.name))
        if facts is None:
            event = with_unknown(event, f"{need.name}:{need.key}")
        else:
            event = replace(event, facts=facts)
    return event


def _gather_fact(event: Event, need: Need, gather: Gatherer | None) -> Facts | None:
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


def with_model_facts(event: Event, model: ModelSettings) -> Event:
    """Add token budget and context window, unless the event has its own."""
    facts = event.facts
    if model.token_budget is not None and facts.token_budget is UNSET:
        facts = replace(facts, token_budget=model.token_budget)
    if model.context_window is not None and facts.context_window is UNSET:
        facts = replace(facts, context_window=model.context_window)
    return event if facts is event.facts else replace(event, facts=facts)


def session_state(session: Session) -> dict[str, JSON]:
    """Return what `bylaw decide --state` prints; the values are not copied."""
    return {
        "turn": session.turn,
        "variables": {space: dict(names) for space, names in session.slate.variables.items()},
        "enabled": _enabled(session.slate.enabled),
        "response": session.slate.response,
        "calls": {tool: tally.count for tool, tally in session.calls.by_name.items()},
        "pending": [{"tool": one.tool, "call": one.call} for one in session.calls.pending],
        "history": {
            "length": session.history.length,
            "tokens": session.history.tokens,
            "last_role": session.history.last_role,
        },
        "firings": {uid: firing.count for uid, firing in session.firings.items()},
        "notices": len(session.notices.waiting),
    }


def _enabled(enabled: EnabledNames) -> dict[str, JSON]:
    return {
        "responses": list(enabled.responses),
        "workflows": list(enabled.workflows),
        "protocols": list(enabled.protocols),
    }
