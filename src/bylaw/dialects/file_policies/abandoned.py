"""Open entries of a policy which is not there any more, or is switched off → skipped.

No rule of the policy can say so: there is none, or it is not asked. So there is one for all of
them, where somebody looks at the whole queue. A policy whose file does not load is still there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, convert, to_builtins

from bylaw.dialects.file_policies.judging import OF_NOTHING
from bylaw.dialects.file_policies.steps import EVENT_TYPE
from bylaw.model.decision import OPEN_ENTRIES, Match, Need, NeedName
from bylaw.model.effects import EntryWrite, EventEmit
from bylaw.model.facts import Entry
from bylaw.model.vocabulary import OPEN_STATUSES, EntryStatus, Op

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bylaw.model.decision import Needs
    from bylaw.model.effects import Step
    from bylaw.model.rule import View

REMOVED = "the policy was removed"
SWITCHED_OFF = "the policy is switched off"
NEEDS = (Need(NeedName.ENTRIES, OPEN_ENTRIES),)


class Abandoned(Struct, frozen=True):
    """An entry that nobody will answer, and why."""

    hash: str
    policy: str
    shown: int
    why: str


class _Bound(Struct, frozen=True):
    entries: tuple[Abandoned, ...]


class IsAbandoned(Struct, frozen=True):
    """The check: whether entries are open for no policy of these, by identifier and uid."""

    policies: Mapping[str, str]

    def test(self, view: View) -> Match | Needs | None:
        """The entries, in the order of their hashes."""
        entries = view.fact(NEEDS[0])
        assert isinstance(entries, dict)
        off = frozenset(view.event.facts.disabled or ())
        found = tuple(
            Abandoned(hash_, entry.policy, entry.shown, why)
            for hash_, entry in sorted(entries.items())
            if isinstance(entry, Entry) and entry.status in OPEN_STATUSES
            if (why := self._why(entry.policy, off))
        )
        return Match(to_builtins(_Bound(found))) if found else None

    def _why(self, policy: str, off: frozenset[str]) -> str:
        if policy not in self.policies:
            return REMOVED
        return SWITCHED_OFF if self.policies[policy] in off else ""


class SkipsAbandoned(Struct, frozen=True):
    """Writes each of them as skipped."""

    op: Op = Op.ENTRY_WRITE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """One step an entry, which keeps its lists."""
        return [
            EntryWrite(
                hash=one.hash,
                status=EntryStatus.SKIPPED,
                policy=one.policy,
                baseline="",
                digest=OF_NOTHING,
                shown=one.shown,
                result=one.why,
            )
            for one in _entries(match)
        ]


class EmitsAbandoned(Struct, frozen=True):
    """Tells of each of them, as of every entry."""

    op: Op = Op.EVENT_EMIT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - StepMaker's names
        """One event an entry."""
        return [
            EventEmit(
                type=EVENT_TYPE,
                payload={
                    "policy": one.policy,
                    "hash": one.hash,
                    "status": EntryStatus.SKIPPED.value,
                    "files": [],
                    "missing": [],
                },
            )
            for one in _entries(match)
        ]


def _entries(match: Match) -> tuple[Abandoned, ...]:
    return convert(match.values, _Bound).entries
