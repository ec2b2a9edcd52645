"""Rules of a group → the order in which they are visited, by the sort keys of its procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.model.procedure import SortKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.model.procedure import Group
    from bylaw.model.rule import Rule

_KEYS: dict[SortKey, Callable[[Rule], object]] = {
    SortKey.RANK: lambda rule: rule.rank,
    SortKey.PRIORITY_ASCENDING: lambda rule: rule.priority,
    SortKey.PRIORITY_DESCENDING: lambda rule: -rule.priority,
    SortKey.FILE: lambda rule: rule.origin.file,
    SortKey.SOURCE: lambda rule: (rule.origin.line, rule.origin.column),
    SortKey.ID: lambda rule: rule.id,
}


def in_order(group: Group) -> tuple[Rule, ...]:
    """Return the rules in visiting order. Rules lowered from one written rule stay together."""
    keys = [_KEYS[key] for key in group.procedure.order]

    def sort_key(rule: Rule) -> tuple[object, ...]:
        return tuple(key(rule) for key in keys)

    return tuple(sorted(group.rules, key=sort_key))
