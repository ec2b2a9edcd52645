"""Checks across all rules of a book: ids that are used twice, and rules that are never reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from bylaw.dialects.law.shadows import shadowed
from bylaw.model.codes import law as codes
from bylaw.model.diagnostic import error, warning
from bylaw.model.visible import brief, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bylaw.dialects.base import RuleFile
    from bylaw.dialects.law.written import WrittenRule
    from bylaw.model.diagnostic import Diagnostic

    RuleOfFile: TypeAlias = tuple[RuleFile, WrittenRule]

_MAX_OTHERS_SHOWN = 3


def duplicate_ids(rules: Iterable[RuleOfFile]) -> list[Diagnostic]:
    """Return an error for each rule whose id another rule also has (LD-039)."""
    by_id: dict[str, list[RuleOfFile]] = {}
    for one in rules:
        by_id.setdefault(one[1].rule_id, []).append(one)
    return [
        _duplicate(one, [other for other in same if other is not one])
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
        _unreached((file_of[id(late)], late), (file_of[id(early)], early))
        for late, early in shadowed([rule for _, rule in ordered])
    ]


def _order(one: RuleOfFile) -> tuple[int, str, int, int]:
    file, rule = one
    return rule.priority, file.path, rule.line, rule.column


def _duplicate(one: RuleOfFile, others: Sequence[RuleOfFile]) -> Diagnostic:
    file, rule = one
    shown = listed(others, _MAX_OTHERS_SHOWN, lambda other: _place(other, file))
    headline = f"duplicate rule id `{brief(rule.rule_id)}`: also used in {shown}"
    help_ = "give each rule a different id"
    return error(codes.LAW_DUPLICATE_RULE_ID, headline, file.source, rule.id_span, help=help_)


def _unreached(late: RuleOfFile, early: RuleOfFile) -> Diagnostic:
    file, rule = late
    name, taker = brief(rule.rule_id), brief(early[1].rule_id)
    headline = f"`{name}` is never reached: `{taker}` in {_place(early, file)} matches first"
    help_ = f"give it a smaller `priority`, narrow `{taker}`, or add `continue: true` to `{taker}`"
    return warning(codes.LAW_SHADOWED, headline, file.source, rule.id_span, help=help_)


def _place(one: RuleOfFile, seen_from: RuleFile) -> str:
    file, rule = one
    return f"line {rule.line}" + ("" if file is seen_from else f" of `{file.path}`")
