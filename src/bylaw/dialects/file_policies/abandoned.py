"""A rule that skips the open entries of policies that are removed or disabled.

The rules of such a policy do not exist or are not evaluated, so one rule does it for all policies
whenever the whole queue is read. A policy whose file does not load still counts as existing.
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
SWITCHED_OFF = "the policy is disabled"
NEEDS = (Need(NeedName.ENTRIES, OPEN_ENTRIES),)


class Abandoned(Struct, frozen=True):
    """An open entry whose policy cannot close it, and why."""

    hash: str
    policy: str
    shown: int
    why: str


class _Bound(Struct, frozen=True):
    entries: tuple[Abandoned, ...]


class IsAbandoned(Struct, frozen=True):
    """Match if entries are open that belong to none of these policies, or to a disabled one.

    `policies` are the uids by identifier.
    """

    policies: Mapping[str, str]

    def test(self, view: View) -> Match | Needs | None:
        """Return the entries in the order of their hashes."""
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
    """Write each of the entries as skipped."""

    op: Op = Op.ENTRY_WRITE

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return one step for each entry. The entry keeps its lists of files."""
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
    """Emit the event of each entry, as for all other entries."""

    op: Op = Op.EVENT_EMIT

    def make(self, view: View, match: Match) -> Sequence[Step]:  # noqa: ARG002 - signature of `StepMaker`
        """Return one event for each entry."""
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
