"""Rules in order → those that are never reached, for an earlier one takes all that they are for.

A rule is reported only if in every world in which it could match an earlier rule without
`continue` matches too. So of the earlier rule the least is taken that it certainly matches, of
the later one the most that it might; whatever is in doubt is not reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from bylaw.dialects.law.path_cover import PathCover
from bylaw.dialects.law.written import (
    Category,
    CommandType,
    RequestApproval,
    RunCommand,
    TriggerKind,
    WriteBus,
    WrittenRule,
)
from bylaw.model.rule import ApprovalMode
from bylaw.model.vocabulary import Change

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from enum import StrEnum

PHASES = range(5)
_ALL = frozenset(Category)
# B and C are never run unapproved, D is never held (LD-069, LD-074, LD-077).
_NOT_HELD = frozenset({Category.A, Category.D})
_FREE = (ApprovalMode.NONE, ApprovalMode.RETROACTIVE)


def shadowed(rules: Sequence[WrittenRule]) -> list[tuple[WrittenRule, WrittenRule]]:
    """Each rule that is never reached, with the first one that takes its place."""
    found = []
    for kind in TriggerKind:
        reaches = [_Reach(rule, number) for number, rule in enumerate(rules) if rule.kind is kind]
        found += list(_shadowed(reaches))
    found.sort(key=lambda pair: pair[0].number)
    return [(late.rule, early.rule) for late, early in found]


def _shadowed(reaches: Sequence[_Reach]) -> Iterator[tuple[_Reach, _Reach]]:
    ending = [reach for reach in reaches if not reach.rule.goes_on]
    cover = PathCover([(reach.number, reach.rule.paths) for reach in ending])
    by_number = {reach.number: reach for reach in ending}
    for late in reaches:
        wanted, number = late.at_most, late.number
        if not wanted:
            continue  # it never matches anything, whoever comes first
        for candidate in cover.over(late.rule.paths, late.rule.kind is TriggerKind.BUS_INPUT):
            if candidate >= number:
                break
            early = by_number[candidate]
            if not wanted & ~early.at_least and _asks_no_more(early, late):
                yield late, early
                break


@dataclass(frozen=True)
class _Reach:
    """What a rule matches: bits for every phase, type and category, as least and as most."""

    rule: WrittenRule
    number: int

    @cached_property
    def at_least(self) -> int:
        return _bits(self._phases, _types(self.rule, _only_tells(self.rule)), self.certain)

    @cached_property
    def at_most(self) -> int:
        return _bits(self._phases, _types(self.rule, _may_hear_requests(self.rule)), self.possible)

    @property
    def _phases(self) -> Collection[int]:
        return self.rule.phases or PHASES

    @cached_property
    def certain(self) -> frozenset[Category]:
        """The categories that it matches, once its approval is there."""
        return frozenset(self.rule.categories or _ALL) & self._certain_by_mode()

    def _certain_by_mode(self) -> frozenset[Category]:
        rule = self.rule
        if rule.kind is TriggerKind.FS_EVENT:
            return _ALL
        if rule.mode is ApprovalMode.RETROACTIVE:
            return frozenset({Category.D})
        if rule.mode is ApprovalMode.NONE:
            return _NOT_HELD if rule.runs else _ALL
        return _ALL if rule.runs else _ALL - {Category.D}

    @cached_property
    def possible(self) -> frozenset[Category]:
        """The categories that it may match at all."""
        rule = self.rule
        never_held = _NOT_HELD if rule.runs and rule.mode in _FREE else _ALL
        unlimited = rule.kind is TriggerKind.FS_EVENT
        return _ALL if unlimited else frozenset(rule.categories or _ALL) & never_held


def _bits(phases: Collection[int], types: Collection[int], categories: Collection[Category]) -> int:
    """One bit for each combination: the order of the types and categories is that of their enum."""
    in_category = sum(1 << _CATEGORIES.index(one) for one in categories)
    in_type = sum(in_category << (len(_CATEGORIES) * one) for one in types)
    return sum(in_type << (len(_CATEGORIES) * _MAX_TYPES * phase) for phase in phases)


_CATEGORIES = tuple(Category)
_MAX_TYPES = max(len(Change), len(CommandType))


def _types(rule: WrittenRule, hears_requests: bool) -> list[int]:
    """The numbers of the types of events or commands that it is for."""
    if rule.kind is TriggerKind.FS_EVENT:
        return _numbers(Change, rule.event_types or tuple(Change))
    if rule.command_types:
        return _numbers(CommandType, rule.command_types)
    requests = (CommandType.APPROVAL_REQUEST,) if hears_requests else ()
    return _numbers(CommandType, (CommandType.TASK, CommandType.EXEC, *requests))


def _numbers(choices: type[StrEnum], chosen: Collection[StrEnum]) -> list[int]:
    return [number for number, one in enumerate(choices) if one in chosen]


def _only_tells(rule: WrittenRule) -> bool:
    return all(isinstance(action, WriteBus) for action in rule.actions)


def _may_hear_requests(rule: WrittenRule) -> bool:
    """LD-A16: a request starts nothing and asks for nothing."""
    return not any(isinstance(one, RunCommand | RequestApproval) for one in rule.actions)


def _asks_no_more(early: _Reach, late: _Reach) -> bool:
    """Whether every approval that is enough for the later rule is enough for the earlier one."""
    if early.rule.kind is TriggerKind.FS_EVENT:
        return True
    return all(_asks_no_more_for(one, early.rule, late.rule) for one in late.possible)


def _asks_no_more_for(category: Category, early: WrittenRule, late: WrittenRule) -> bool:
    match category, early.mode:
        case Category.D, _:
            return True  # it is certain there, and D waits for nobody
        case Category.A, ApprovalMode.NONE if late.mode is ApprovalMode.NONE:
            return _raised_alike(early, late)
        case Category.A, ApprovalMode.NONE:
            # A message that wants approval raises this to `single` (LD-A12).
            return bool(early.authorities) and _enough_for_single(early, late)
        case _, ApprovalMode.NONE:
            return True
        case _, ApprovalMode.SINGLE:
            return _enough_for_single(early, late)
        case _:
            return late.mode is ApprovalMode.DUAL and _among(late, early)


def _raised_alike(early: WrittenRule, late: WrittenRule) -> bool:
    """Whether both ask the same of a message that wants approval, or the earlier one less."""
    same = set(early.authorities) == set(late.authorities)
    return same and (late.runs or not early.runs)


def _enough_for_single(early: WrittenRule, late: WrittenRule) -> bool:
    if late.mode is ApprovalMode.SINGLE:
        return _among(late, early)
    others = set(late.authorities) - set(early.authorities)
    return late.mode is ApprovalMode.DUAL and len(others) <= 1


def _among(late: WrittenRule, early: WrittenRule) -> bool:
    return set(late.authorities) <= set(early.authorities)
