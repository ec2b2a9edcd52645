"""The rules of books by uid, and the search for one rule by id or uid.

One id may stand for several adjacent rules with the same uid. Built-in rules are left out: they
have no name that a person could know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.model.errors import RuleError
from bylaw.model.suggest import did_you_mean
from bylaw.model.uid import built_in_uid
from bylaw.model.visible import brief, clipped

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from bylaw.model.procedure import Book
    from bylaw.model.rule import Origin, Rule
    from bylaw.model.vocabulary import CallStatus, Kind

MAX_HINT = 500  # characters of a suggestion


class NamedRule(Struct, frozen=True):
    """The rules that one id of a file stands for."""

    uid: str
    id: str
    dialect: str
    parts: tuple[Rule, ...]

    @property
    def origin(self) -> Origin:
        """The file and line of the rule."""
        return self.parts[0].origin

    @property
    def place(self) -> str:
        """File and line as text."""
        return f"{self.origin.file}:{self.origin.line}"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of events that the rule applies to."""
        return tuple(dict.fromkeys(kind for part in self.parts for kind in part.on.kinds))

    @property
    def status(self) -> tuple[CallStatus, ...]:
        """The results of calls that the rule applies to; empty means all."""
        if not all(part.on.status for part in self.parts):
            return ()
        return tuple(dict.fromkeys(status for part in self.parts for status in part.on.status))

    @property
    def core(self) -> bool:
        """Whether the rule cannot be disabled."""
        return any(part.core for part in self.parts)

    @property
    def enabled(self) -> bool:
        """Whether the rule is enabled in its file; a core rule always is."""
        return self.core or any(part.enabled for part in self.parts)

    def is_switched(self, disabled: Container[str]) -> bool:
        """Check whether a person disabled the rule; False for a core rule."""
        return not self.core and self.uid in disabled


def named_rules(books: Iterable[Book]) -> dict[str, NamedRule]:
    """Return all rules with a name, by uid, in the order of the books and their groups."""
    parts: dict[tuple[str, str], list[Rule]] = {}
    for book in books:
        ours = built_in_uid(book.dialect, "")
        for group in book.groups:
            for rule in group.rules:
                if not rule.uid.startswith(ours):
                    parts.setdefault((book.dialect, rule.uid), []).append(rule)
    return {
        uid: NamedRule(uid, same[0].id, dialect, tuple(same))
        for (dialect, uid), same in parts.items()
    }


def find_rule(rules: Mapping[str, NamedRule], name: str) -> NamedRule:
    """Return the rule with that uid or id; RuleError if there is none, or more than one."""
    if name in rules:
        return rules[name]
    found = [rule for rule in rules.values() if rule.id == name]
    if not found:
        known = rules if "#" in name else {rule.id for rule in rules.values()}
        hint = did_you_mean(name, known) or "no rules are loaded"
        raise RuleError(f"unknown rule `{brief(name)}`: {clipped(hint, MAX_HINT)}")
    if len(found) > 1:
        uids = ", ".join(f"`{rule.uid}`" for rule in found)
        raise RuleError(f"{len(found)} rules have the id `{name}`: {clipped(uids, MAX_HINT)}")
    return found[0]
