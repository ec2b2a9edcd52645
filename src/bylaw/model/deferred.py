"""Steps that change the session, but stand behind steps that may fail: they wait their turn.

What stands before the first step that has to be performed changes the session with the decision.
What stands behind it waits for the `effect` event of its own; if an earlier step of the plan
fails, it never comes, and the rest of the plan is dropped (CM-A39).
"""

from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.effects import SessionStep
from bylaw.model.event import EffectDone
from bylaw.model.vocabulary import EffectStatus

# A host that reports no outcomes must not make this grow.
MAX_DEFERRED = 200


class Deferred(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Step `number` of the decision on event `of`, in a plan that begins with step `first`."""

    of: int
    number: int
    first: int
    uid: str
    rule: str
    step: SessionStep


class Deferrals(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The steps that wait, oldest first."""

    waiting: tuple[Deferred, ...] = ()

    def put(self, one: Deferred) -> Self:
        """One step more."""
        return replace(self, waiting=(*self.waiting, one)[-MAX_DEFERRED:])

    def settle(self, effect: EffectDone) -> tuple[Self, Deferred | None]:
        """After an outcome: what still waits, and the step that takes effect now."""
        own = [one for one in self.waiting if one.of == effect.of]
        if effect.status is EffectStatus.OK:
            due = next((one for one in own if one.number == effect.step), None)
            return (self._without([due]), due) if due else (self, None)
        dropped = [one for one in own if one.first <= effect.step <= one.number]
        return (self._without(dropped), None) if dropped else (self, None)

    def _without(self, gone: list[Deferred]) -> Self:
        return replace(self, waiting=tuple(one for one in self.waiting if one not in gone))
