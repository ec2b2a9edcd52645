"""The world of a coding agent between two of its hooks: what rules say is collected for it.

What rules want done about changes of files is no work of a hook: the watcher of the bus does it,
and only that. Here it is judged and recorded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.engine.outcome import DONE, StepOutcome
from bylaw.model.effects import Log, MessageInsert
from bylaw.model.event import File
from bylaw.model.vocabulary import EffectStatus, Op, Recipient
from bylaw.runtime.needs import NO_GATHERERS

if TYPE_CHECKING:
    from bylaw.engine.plan import Due
    from bylaw.hosts.base import Offer
    from bylaw.model.event import Event
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.performing import Performer, Performers

LEFT_TO_WATCHER = StepOutcome(
    EffectStatus.NOT_CARRIED_OUT,
    {"error": "a hook only judges changes of files: `bylaw bus run` acts on them"},
)


class HookHost:
    """Collects texts for the model and for the person, and lines of logs."""

    scribe = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.for_model: list[str] = []
        self.for_person: list[str] = []
        self.logged: list[str] = []

    @property
    def gatherers(self) -> Gatherers:
        """A client brings its facts with its payload."""
        return NO_GATHERERS

    @property
    def performers(self) -> Performers:
        """One method an effect."""
        return {Op.MESSAGE_INSERT: self._say, Op.LOG: self._log}

    def _say(self, due: Due, _event: Event) -> StepOutcome:
        assert isinstance(due.step, MessageInsert)
        to_person = due.step.to is Recipient.PERSON
        (self.for_person if to_person else self.for_model).append(str(due.step.text))
        return DONE

    def _log(self, due: Due, _event: Event) -> StepOutcome:
        assert isinstance(due.step, Log)
        self.logged.append(f"{due.step.level}: {due.plan.rule}: {due.step.text!s}")
        return DONE


class NotForFiles:
    """What is offered to a hook, but for changes of files."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer

    @property
    def gatherers(self) -> Gatherers:
        """All of them."""
        return self._offer.gatherers

    @property
    def performers(self) -> Performers:
        """All of them, each for other events."""
        return {op: _not_for_files(perform) for op, perform in self._offer.performers.items()}


def _not_for_files(perform: Performer) -> Performer:
    def performed(due: Due, event: Event) -> StepOutcome:
        return LEFT_TO_WATCHER if isinstance(event, File) else perform(due, event)

    return performed
