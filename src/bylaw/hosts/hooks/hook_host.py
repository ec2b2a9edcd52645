"""The host of one hook: it collects messages and log lines of rules for a coding agent.

A hook does not carry out what rules do about file changes: only the watcher of the bus does. A hook
decides file changes and records the decisions.
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
    {"error": "a hook only decides file changes: `bylaw bus run` carries out the actions"},
)


class HookHost:
    """Collects messages for the model, messages for the person, and log lines."""

    scribe = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.for_model: list[str] = []
        self.for_person: list[str] = []
        self.logged: list[str] = []

    @property
    def gatherers(self) -> Gatherers:
        """Nothing: a client sends its facts in the payload."""
        return NO_GATHERERS

    @property
    def performers(self) -> Performers:
        """One method for each kind of step."""
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
    """An offer for hooks whose performers do nothing for file changes."""

    def __init__(self, offer: Offer) -> None:
        self._offer = offer

    @property
    def gatherers(self) -> Gatherers:
        """All gatherers of the offer."""
        return self._offer.gatherers

    @property
    def performers(self) -> Performers:
        """All performers of the offer. For file changes they leave the step to the watcher."""
        return {op: _not_for_files(perform) for op, perform in self._offer.performers.items()}


def _not_for_files(perform: Performer) -> Performer:
    def performed(due: Due, event: Event) -> StepOutcome:
        return LEFT_TO_WATCHER if isinstance(event, File) else perform(due, event)

    return performed
