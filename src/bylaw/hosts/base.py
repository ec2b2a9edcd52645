"""The one loop of all hosts: events in, each gathered for, submitted and performed, answers out.

A host brings what is special to its world: who finds out facts, and who carries out effects. What
is the same everywhere, scripts among it, is put together here.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from bylaw.model.decision import NeedName
from bylaw.model.errors import BylawError
from bylaw.runtime.effects import CARRIES_OUT
from bylaw.runtime.submit import Runtime

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bylaw.engine.index import RuleSet
    from bylaw.model.event import Event
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.journal.sources import RulesInForce
    from bylaw.runtime.journal.store import Journal
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.performing import Performers
    from bylaw.runtime.scribe import Scribe
    from bylaw.runtime.scripts import ScriptRunner


class Host(Protocol):
    """One world."""

    name: str
    """As it stands in the table of effects."""

    @property
    def performers(self) -> Performers:
        """Who carries out what; nothing that the table does not name."""

    @property
    def gatherers(self) -> Gatherers:
        """Who finds out the facts of this world."""

    @property
    def scribe(self) -> Scribe | None:
        """Who writes down what is no step, if this world keeps a transcript."""


class Offer(Protocol):
    """What one world can do for the rules of others, such as a work tree for a chat in it."""

    @property
    def performers(self) -> Performers:
        """Who carries out what."""

    @property
    def gatherers(self) -> Gatherers:
        """Who finds out facts."""


class Loop:
    """Rules in force in one world; journal and scripts are closed by whoever opened them.

    What the host does itself comes before what is offered to it.
    """

    def __init__(
        self,
        host: Host,
        rules: RuleSet,
        in_force: RulesInForce,
        journal: Journal,
        scripts: ScriptRunner,
        offer: Offer | None = None,
    ) -> None:
        self.journal = journal
        own = {NeedName.SCRIPTS: scripts.gather}
        gatherers = {} if offer is None else offer.gatherers
        performers = {**({} if offer is None else offer.performers), **host.performers}
        untold = performers.keys() - CARRIES_OUT[host.name]
        if untold:
            raise BylawError(f"`{host.name}` carries out what its table does not say: {untold}")
        self.runtime = Runtime(
            rules,
            in_force,
            journal,
            gatherers=MappingProxyType({**gatherers, **host.gatherers, **own}),
            performers=MappingProxyType(performers),
            scribe=host.scribe,
        )

    def take(self, events: Iterable[Event]) -> list[Answer]:
        """Submit events in their order; a denied one does not keep the next from being asked."""
        return [self.runtime.submit(event) for event in events]
