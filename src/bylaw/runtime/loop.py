"""The loop that all hosts share: submit each event, perform its steps, return the answers.

A host provides the functions that gather facts and perform steps in its environment. The loop adds
what is the same for every host, such as scripts.
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
    from bylaw.runtime.effects import Performers
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.scripts import ScriptRunner
    from bylaw.runtime.submit import TranscriptWriter
    from bylaw.store.journal.journal import Journal
    from bylaw.store.journal.records import ActiveRuleTexts


class Host(Protocol):
    """What one environment can do for rules."""

    name: str
    """Its name in the table `CARRIES_OUT` of `runtime.effects`."""

    @property
    def performers(self) -> Performers:
        """The function that performs each step; only steps that the table names for this host."""

    @property
    def gatherers(self) -> Gatherers:
        """The function that gathers each fact."""

    @property
    def scribe(self) -> TranscriptWriter | None:
        """Writes events and denials to a transcript; None if this host keeps none."""


class HostExtension(Protocol):
    """Performers and gatherers that another host can use, such as a work tree for a chat."""

    @property
    def performers(self) -> Performers:
        """The function that performs each step."""

    @property
    def gatherers(self) -> Gatherers:
        """The function that gathers each fact."""


class Loop:
    """The active rules of one host. The caller closes the journal and the scripts.

    If the host and the offer can do the same, the host does it.
    """

    def __init__(
        self,
        host: Host,
        rules: RuleSet,
        in_force: ActiveRuleTexts,
        journal: Journal,
        scripts: ScriptRunner,
        offer: HostExtension | None = None,
    ) -> None:
        self.journal = journal
        own = {NeedName.SCRIPTS: scripts.gather}
        gatherers = {} if offer is None else offer.gatherers
        performers = {**({} if offer is None else offer.performers), **host.performers}
        untold = performers.keys() - CARRIES_OUT[host.name]
        if untold:
            raise BylawError(f"`{host.name}` performs steps that its table does not list: {untold}")
        self.runtime = Runtime(
            rules,
            in_force,
            journal,
            gatherers=MappingProxyType({**gatherers, **host.gatherers, **own}),
            performers=MappingProxyType(performers),
            scribe=host.scribe,
        )

    def take(self, events: Iterable[Event]) -> list[Answer]:
        """Submit events in order. If one is denied, the next are submitted all the same."""
        return [self.runtime.submit(event) for event in events]
