"""Notices: texts that wait in the session until they are due. Undelivered ones wait again."""

from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from bylaw.model.effects import Notify
from bylaw.model.event import EffectDone
from bylaw.model.vocabulary import Category, DeliverAt, EffectStatus, Priority

# Bounded, because a host may never report outcomes.
MAX_SENT = 200
# More would not be read at once. The oldest are dropped, and `lost` counts them.
MAX_WAITING = 1_000

UNDELIVERED = frozenset(EffectStatus) - {EffectStatus.OK}


class Notice(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text with the rule that wrote it, numbered from 1 in the order of firing."""

    number: int
    uid: str
    rule: str
    text: str
    category: Category
    priority: Priority
    deliver_at: DeliverAt


class Sent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A notice that was sent with step `step` of the decision on event `of`."""

    notice: Notice
    of: int
    step: int


class Notices(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How many were made and lost, which ones wait, and which were sent with unknown outcome."""

    made: int = 0
    lost: int = 0
    waiting: tuple[Notice, ...] = ()
    sent: tuple[Sent, ...] = ()

    def put(self, step: Notify, uid: str, rule: str) -> Self:
        """Add a notice."""
        notice = Notice(
            number=self.made + 1,
            uid=uid,
            rule=rule,
            text=step.text,
            category=step.category,
            priority=step.priority,
            deliver_at=step.deliver_at,
        )
        waiting = (*self.waiting, notice)
        lost = max(len(waiting) - MAX_WAITING, 0)
        return replace(self, made=notice.number, lost=self.lost + lost, waiting=waiting[lost:])

    def send(self, number: int, of: int, step: int) -> Self:
        """Move a waiting notice to those that were sent."""
        sent = tuple(
            Sent(notice=notice, of=of, step=step)
            for notice in self.waiting
            if notice.number == number
        )
        waiting = tuple(notice for notice in self.waiting if notice.number != number)
        return replace(self, waiting=waiting, sent=(*self.sent, *sent)[-MAX_SENT:])

    def settle(self, effect: EffectDone) -> Self:
        """Apply the outcome of a delivery. A notice that did not arrive waits again."""
        place = (effect.of, effect.step)
        settled = [sent for sent in self.sent if (sent.of, sent.step) == place]
        if not settled:
            return self
        back = [sent.notice for sent in settled if effect.status in UNDELIVERED]
        return replace(
            self,
            waiting=tuple(sorted((*self.waiting, *back), key=lambda notice: notice.number)),
            sent=tuple(sent for sent in self.sent if (sent.of, sent.step) != place),
        )
