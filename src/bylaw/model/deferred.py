"""Steps that change the session but come after steps that may fail.

Steps before the first one that the host performs change the session with the decision. A later step
waits for its own `effect` event. If an earlier step of the plan fails, that event never comes, and
the rest of the plan is dropped (CM-A39).
"""

from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.effects import SessionStep
from bylaw.model.event import EffectDone
from bylaw.model.vocabulary import EffectStatus

# Bounded, because a host may never report outcomes.
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
        """Add one step."""
        return replace(self, waiting=(*self.waiting, one)[-MAX_DEFERRED:])

    def settle(self, effect: EffectDone) -> tuple[Self, Deferred | None]:
        """Return what still waits after an outcome, and the step that takes effect now."""
        own = [one for one in self.waiting if one.of == effect.of]
        if effect.status is EffectStatus.OK:
            due = next((one for one in own if one.number == effect.step), None)
            return (self._without([due]), due) if due else (self, None)
        dropped = [one for one in own if one.first <= effect.step <= one.number]
        return (self._without(dropped), None) if dropped else (self, None)

    def _without(self, gone: list[Deferred]) -> Self:
        return replace(self, waiting=tuple(one for one in self.waiting if one not in gone))
