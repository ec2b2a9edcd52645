"""All files of a book → their rules, the commands that they can start, and findings across rules.

A rule is reported as never reached only if an earlier rule without `continue` matches in every
case in which it matches. Phases, types, categories and approvals are compared as in the lowering.
Paths are compared only as far as the result is certain.
"""

from __future__ import annotations

from functools import cache, cached_property
from itertools import chain, combinations
from shlex import join
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from bylaw.languages.base import Launch, LaunchKind, LoadResult, VisitOrder
from bylaw.languages.law.action_reader import WHITELIST
from bylaw.languages.law.actions import CommandMaker
from bylaw.languages.law.built_in import LEADING_RULES, PROCEDURE
from bylaw.languages.law.lowering import lower_rule, message_classes
from bylaw.languages.law.reader import read_rules
from bylaw.languages.law.syntax import GROUP, PHASES, TriggerKind
from bylaw.model.codes import law as codes
from bylaw.model.diagnostic import error, has_errors, warning
from bylaw.model.display import brief, list_limited
from bylaw.model.event import Bus
from bylaw.model.procedure import Group
from bylaw.model.rule import needed_approvals
from bylaw.model.vocabulary import Authority, Change
from bylaw.paths import pattern
from bylaw.paths.cover import CoverCheck, sample_path
from bylaw.paths.index import PathIndex

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from bylaw.languages.base import RuleFile
    from bylaw.languages.law.syntax import Category, CommandType, RuleSyntax
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.rule import ApprovalGate

    Matched: TypeAlias = Change | tuple[CommandType, Category]
    RuleOfFile: TypeAlias = tuple[RuleFile, RuleSyntax]


_EVERYTHING = ("**",)


class PathCover:
    """Rules by number, in order, with their patterns. A rule without patterns is for any path."""

    def __init__(self, rules: Sequence[tuple[int, tuple[str, ...]]]) -> None:
        self._paths = dict(rules)
        self._unlimited = [number for number, paths in rules if not paths]
        self._by_text: dict[str, set[int]] = {}
        for number, paths in rules:
            for text in paths:
                self._by_text.setdefault(text, set()).add(number)
        self._texts = list(self._by_text)
        self._pattern = cache(pattern)
        self._covering = CoverCheck()

    def may_cover(self, paths: tuple[str, ...], *, may_be_empty: bool) -> list[int]:
        """Return the rules that may match everything that these patterns match, in order.

        No other rule does. No patterns means any path. With `may_be_empty` it also means no path
        at all, which only a rule without patterns matches.
        """
        found: set[int] = set()
        if paths or not may_be_empty:
            found = set.intersection(*map(self._matching_sample, paths or _EVERYTHING))
        return sorted({*self._unlimited, *found})

    def covers(self, number: int, paths: tuple[str, ...]) -> bool:
        """Return whether this rule certainly matches everything that these patterns match."""
        wide = self._paths[number]
        if not wide:
            return True
        narrow = [self._pattern(text) for text in paths or _EVERYTHING if text not in wide]
        # A literal pattern is its own sample, so `may_cover` has already compared it.
        return self._covering.covers(
            [self._pattern(text).tokens for text in wide],
            [one.tokens for one in narrow if one.literal is None],
        )

    def _matching_sample(self, text: str) -> set[int]:
        found = self._index.matching(sample_path(self._pattern(text).tokens))
        return {number for one in found for number in self._by_text[self._texts[one]]}

    @cached_property
    def _index(self) -> PathIndex:
        return PathIndex([self._pattern(text) for text in self._texts])


# A message without `requires_approval`, and one that requires approval (LD-A12).
_MESSAGES = (Bus(message={}), Bus(message={"requires_approval": True}))
_ALL_GRANTS = tuple(
    chain.from_iterable(combinations(Authority, count) for count in range(len(Authority) + 1))
)


def find_shadowed(rules: Sequence[RuleSyntax]) -> list[tuple[RuleSyntax, RuleSyntax]]:
    """Return each rule that is never reached, with the first rule that matches before it."""
    found: list[tuple[_RuleScope, _RuleScope]] = []
    for kind in TriggerKind:
        reaches = [
            _RuleScope(rule, number) for number, rule in enumerate(rules) if rule.kind is kind
        ]
        found += _find_shadowed(reaches, kind)
    found.sort(key=lambda pair: pair[0].number)
    return [(late.rule, early.rule) for late, early in found]


def _find_shadowed(
    reaches: Sequence[_RuleScope], kind: TriggerKind
) -> Iterator[tuple[_RuleScope, _RuleScope]]:
    ending = {reach.number: reach for reach in reaches if not reach.rule.goes_on}
    cover = PathCover([(number, reach.rule.paths) for number, reach in ending.items()])
    for late in reaches:
        # A message may have no path, but a file change always has one.
        paths = late.rule.paths
        candidates = cover.may_cover(paths, may_be_empty=kind is TriggerKind.BUS_INPUT)
        earlier = (ending[number] for number in candidates if number < late.number)
        likely = (one for one in earlier if one.covers(late))
        if early := next((one for one in likely if cover.covers(one.number, paths)), None):
            yield late, early


class _RuleScope(Struct, frozen=True, dict=True):
    """What a rule matches, apart from paths."""

    rule: RuleSyntax
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
            for cell in message_classes(self.rule)
            for type_ in cell.types
            for category in cell.categories
        }

    def covers(self, late: _RuleScope) -> bool:
        """Return whether the rule matches everything that the later one matches."""
        return (
            late.gates.keys() <= self.gates.keys()
            and late.phases <= self.phases
            and all(_needs_no_more(self.gates[one], gate) for one, gate in late.gates.items())
        )


@cache
def _needs_no_more(early: ApprovalGate | None, late: ApprovalGate | None) -> bool:
    """Return whether approvals that satisfy the later gate always satisfy the earlier one."""
    return all(
        _is_open(early, message, granted)
        for message in _MESSAGES
        for granted in _ALL_GRANTS
        if _is_open(late, message, granted)
    )


def _is_open(gate: ApprovalGate | None, message: Bus, granted: Collection[Authority]) -> bool:
    if gate is None:
        return True
    counted = [one for one in granted if one in gate.authorities]
    return len(counted) >= needed_approvals(gate, message)


_MAX_OTHERS_SHOWN = 3


def duplicate_ids(rules: Iterable[RuleOfFile]) -> list[Diagnostic]:
    """Return an error for each rule whose id another rule also has (LD-039)."""
    by_id: dict[str, list[RuleOfFile]] = {}
    for one in rules:
        by_id.setdefault(one[1].rule_id, []).append(one)
    return [
        _duplicate_error(one, [other for other in same if other is not one])
        for same in by_id.values()
        if len(same) > 1
        for one in same
    ]


def unreached_rules(rules: Sequence[RuleOfFile]) -> list[Diagnostic]:
    """Return a warning for each rule that is never reached.

    Rules are ordered by priority, file and position (LD-A29).
    """
    ordered = sorted(rules, key=_order)
    file_of = {id(rule): file for file, rule in ordered}
    return [
        _unreached_warning((file_of[id(late)], late), (file_of[id(early)], early))
        for late, early in find_shadowed([rule for _, rule in ordered])
    ]


def _order(one: RuleOfFile) -> tuple[int, str, int, int]:
    file, rule = one
    return rule.priority, file.path, rule.line, rule.column


def _duplicate_error(one: RuleOfFile, others: Sequence[RuleOfFile]) -> Diagnostic:
    file, rule = one
    shown = list_limited(others, _MAX_OTHERS_SHOWN, lambda other: _place(other, file))
    headline = f"duplicate rule id `{brief(rule.rule_id)}`: also used in {shown}"
    help_ = "give each rule a different id"
    return error(codes.LAW_DUPLICATE_RULE_ID, headline, file.source, rule.id_span, help=help_)


def _unreached_warning(late: RuleOfFile, early: RuleOfFile) -> Diagnostic:
    file, rule = late
    name, taker = brief(rule.rule_id), brief(early[1].rule_id)
    headline = f"`{name}` is never reached: `{taker}` in {_place(early, file)} matches first"
    help_ = f"give it a smaller `priority`, narrow `{taker}`, or add `continue: true` to `{taker}`"
    return warning(codes.LAW_SHADOWED, headline, file.source, rule.id_span, help=help_)


def _place(one: RuleOfFile, seen_from: RuleFile) -> str:
    file, rule = one
    return f"line {rule.line}" + ("" if file is seen_from else f" of `{file.path}`")


def load(files: Sequence[RuleFile]) -> LoadResult:
    """Load the rules of all files; an error in one file does not affect the others."""
    read = [_FileResult(file, *read_rules(file.source)) for file in files]
    duplicates = duplicate_ids((one.file, rule) for one in read for rule in one.rules)
    for one in read:
        one.findings += [each for each in duplicates if each.source is one.file.source]
    sound = [one for one in read if not has_errors(one.findings)]
    in_force = [(one.file, rule) for one in sound for rule in one.rules]
    findings = [finding for one in read for finding in one.findings]
    rules = [each for file, rule in in_force for each in lower_rule(rule, file)]
    return LoadResult(
        groups=(Group(GROUP, VisitOrder.LAW, PROCEDURE, (*LEADING_RULES, *rules)),),
        diagnostics=(*findings, *unreached_rules(in_force)),
    )


class _FileResult(Struct):
    """A file with its rules and findings."""

    file: RuleFile
    rules: list[RuleSyntax]
    findings: list[Diagnostic]


def starts(book: Book) -> Sequence[Launch]:
    """Return the command lines of all rules, once for each written rule."""
    found = [
        Launch(LaunchKind.PROGRAM, _command_text(maker), rule.uid)
        for group in book.groups
        for rule in group.rules
        for maker in rule.plan.steps
        if isinstance(maker, CommandMaker)
    ]
    return list(dict.fromkeys(found))


def _command_text(maker: CommandMaker) -> str:
    if maker.action.of_message:
        return f"any command in `run` of an approved message ({', '.join(WHITELIST)})"
    return join(maker.action.argv)
