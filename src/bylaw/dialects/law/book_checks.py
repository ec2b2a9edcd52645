"""The rules of all law files → findings that no file shows by itself."""

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
    """An error at each rule whose id another one has, too (LD-039)."""
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
    """A warning at each rule that is never reached; by priority, file and position (LD-A29)."""
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
    headline = f"`{brief(rule.rule_id)}` is also the id of the rule in {shown}"
    help_ = "give each rule an id of its own"
    return error(codes.LAW_DUPLICATE_RULE_ID, headline, file.source, rule.id_span, help=help_)


def _unreached(late: RuleOfFile, early: RuleOfFile) -> Diagnostic:
    file, rule = late
    name, taker = brief(rule.rule_id), brief(early[1].rule_id)
    headline = f"`{name}` is never reached: `{taker}` in {_place(early, file)} matches first"
    help_ = f"give it a smaller `priority`, narrow `{taker}`, or let that one `continue: true`"
    return warning(codes.LAW_SHADOWED, headline, file.source, rule.id_span, help=help_)


def _place(one: RuleOfFile, seen_from: RuleFile) -> str:
    file, rule = one
    return f"line {rule.line}" + ("" if file is seen_from else f" of `{file.path}`")
