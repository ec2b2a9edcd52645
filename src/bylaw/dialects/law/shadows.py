"""Rules in order → the rules that are never reached, because an earlier rule matches first.

A rule is reported only if an earlier rule without `continue` matches in every case in which it
matches. Phases, types, categories and approvals are compared as in the lowering. Paths are
compared only as far as the result is certain.
"""

from __future__ import annotations

from functools import cache, cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from bylaw.dialects.law.lowering import cells
from bylaw.dialects.law.path_cover import PathCover
from bylaw.dialects.law.written import PHASES, TriggerKind
from bylaw.model.approvals import needed_approvals
from bylaw.model.event import Bus
from bylaw.model.vocabulary import Authority, Change

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from bylaw.dialects.law.written import Category, CommandType, WrittenRule
    from bylaw.model.rule import ApprovalGate

    Matched: TypeAlias = Change | tuple[CommandType, Category]

# A message without `requires_approval`, and one that requires approval (LD-A12).
_MESSAGES = (Bus(message={}), Bus(message={"requires_approval": True}))
_ANY_GRANTED = tuple(
    chain.from_iterable(combinations(Authority, count) for count in range(len(Authority) + 1))
)


def shadowed(rules: Sequence[WrittenRule]) -> list[tuple[WrittenRule, WrittenRule]]:
    """Return each rule that is never reached, with the first rule that matches before it."""
    found: list[tuple[_Reach, _Reach]] = []
    for kind in TriggerKind:
        reaches = [_Reach(rule, number) for number, rule in enumerate(rules) if rule.kind is kind]
        found += _shadowed(reaches, kind)
    found.sort(key=lambda pair: pair[0].number)
    return [(late.rule, early.rule) for late, early in found]


def _shadowed(reaches: Sequence[_Reach], kind: TriggerKind) -> Iterator[tuple[_Reach, _Reach]]:
    ending = {reach.number: reach for reach in reaches if not reach.rule.goes_on}
    cover = PathCover([(number, reach.rule.paths) for number, reach in ending.items()])
    for late in reaches:
        # A message may have no path, but a file change always has one.
        paths = late.rule.paths
        candidates = cover.may_cover(paths, may_be_empty=kind is TriggerKind.BUS_INPUT)
        earlier = (ending[number] for number in candidates if number < late.number)
        likely = (one for one in earlier if one.takes_all_of(late))
        if early := next((one for one in likely if cover.covers(one.number, paths)), None):
            yield late, early


class _Reach(Struct, frozen=True, dict=True):
    """What a rule matches, apart from paths."""

    rule: WrittenRule
    number: int

    @cached_property
    def phases(self) -> frozenset[int]:
        """The phases that the rule is for."""
        return frozenset(self.rule.phases or PHASES)

    @cached_property
    def gates(self) -> dict[Matched, ApprovalGate | None]:
        """What the rule matches, and the approval that this needs."""
        if self.rule.kind is TriggerKind.FS_EVENT:
            return dict.fromkeys(self.rule.event_types or tuple(Change))
        return {
            (type_, category): cell.gate
            for cell in cells(self.rule)
            for type_ in cell.types
            for category in cell.categories
        }

    def takes_all_of(self, late: _Reach) -> bool:
        """Return whether the rule matches everything that the later one matches."""
        return (
            late.gates.keys() <= self.gates.keys()
            and late.phases <= self.phases
            and all(_asks_no_more(self.gates[one], gate) for one, gate in late.gates.items())
        )


@cache
def _asks_no_more(early: ApprovalGate | None, late: ApprovalGate | None) -> bool:
    """Return whether approvals that satisfy the later gate always satisfy the earlier one."""
    return all(
        _opens(early, message, granted)
        for message in _MESSAGES
        for granted in _ANY_GRANTED
        if _opens(late, message, granted)
    )


def _opens(gate: ApprovalGate | None, message: Bus, granted: Collection[Authority]) -> bool:
    if gate is None:
        return True
    counted = [one for one in granted if one in gate.authorities]
    return len(counted) >= needed_approvals(gate, message)
