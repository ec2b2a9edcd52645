"""Check whether a rule may be disabled or enabled, and keep the disabled rules of a running engine.

The choices of a program override those of its root, until the rule no longer exists. Nothing is
written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from bylaw.model.errors import RuleError
from bylaw.model.event import RulesChanged
from bylaw.runtime.journal.sources import digest_of
from bylaw.runtime.named_rules import find_rule, named_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bylaw.model.event import Event
    from bylaw.model.procedure import Book
    from bylaw.runtime.named_rules import NamedRule


def refuse_switch(rule: NamedRule, *, on: bool) -> None:
    """Raise RuleError if the rule cannot be disabled, or not be enabled."""
    if rule.core and not on:
        message = f"`{rule.id}` is a core rule and cannot be disabled; see {rule.place}"
        raise RuleError(message)
    if on and not rule.enabled:
        message = f"`{rule.id}` is disabled in its file: set `enabled = true` in {rule.place}"
        raise RuleError(message)


class Switchboard:
    """The disabled rules of an engine, as they are stamped on every event."""

    def __init__(self, books: Sequence[Book], off: Iterable[str]) -> None:
        self._of_program: dict[str, bool] = {}
        self.renew(books, off)

    def renew(self, books: Sequence[Book], off: Iterable[str]) -> None:
        """Use other books, or other disabled rules of the root."""
        self._rules = named_rules(books)
        self._digest = digest_of(books).hex()
        self._of_root = frozenset(off)
        self._of_program = {u: on for u, on in self._of_program.items() if u in self._rules}
        self._settle()

    def switch(self, name: str, *, on: bool) -> None:
        """Enable or disable the rule with that id or uid; RuleError if that is not possible."""
        rule = find_rule(self._rules, name)
        refuse_switch(rule, on=on)
        self._of_program[rule.uid] = on
        self._settle()

    def changed(self, before: Sequence[str]) -> RulesChanged:
        """Return the event for the change since `before`, the rules disabled then."""
        was, is_ = set(before), set(self.disabled)
        enabled, disabled = (was - is_) & self._rules.keys(), is_ - was
        return RulesChanged(
            digest=self._digest, enabled=tuple(sorted(enabled)), disabled=tuple(sorted(disabled))
        )

    def stamp(self, event: Event) -> Event:
        """Return the event with the disabled rules added to those that it names itself."""
        if not self.disabled:
            return event
        disabled = self.disabled
        if event.facts.disabled:
            disabled = tuple(dict.fromkeys((*event.facts.disabled, *disabled)))
        return replace(event, facts=replace(event.facts, disabled=disabled))

    def _settle(self) -> None:
        on = {uid for uid, on in self._of_program.items() if on}
        off = (self._of_root | self._of_program.keys()) - on
        self.disabled = tuple(
            uid for uid in sorted(off) if uid in self._rules and self._rules[uid].is_switched(off)
        )
