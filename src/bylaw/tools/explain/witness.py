"""Decide an event again and record what the guards of selected rules read and found.

The slow path decides, because it evaluates every guard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.engine.decide import deliberate
from bylaw.engine.index import RuleSet
from bylaw.engine.view import View
from bylaw.model.decision import Decision, Needs
from bylaw.model.fold import observe

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from bylaw.model.decision import Match, Need, TraceLine
    from bylaw.model.event import Event
    from bylaw.model.procedure import Book, Group
    from bylaw.model.rule import Guard, Rule
    from bylaw.model.rule import View as AnyView
    from bylaw.model.session import Session


class Answered(NamedTuple):
    """A fact that a guard asked for. `found` is None if there was no answer."""

    need: Need
    found: object


class Asking(NamedTuple):
    """One evaluation of a guard: its view, the facts that it read, and the result."""

    rule: Rule
    view: View
    answered: tuple[Answered, ...]
    match: Match | None
    failed: bool


class Testimony(Struct, frozen=True):
    """The trace of an event that was decided again, and the evaluations of guards by uid.

    `missing` are facts that are not recorded. If there are any, the decision is unknown.
    """

    view: View
    trace: dict[str, TraceLine]
    askings: dict[str, Asking]
    missing: tuple[Need, ...] = ()


class _WatchedView(View):
    """A view that records which facts are read."""

    answered: dict[Need, Answered] = field(default_factory=dict)

    def fact(self, need: Need) -> object:
        """Record the fact and return it."""
        self.answered[need] = Answered(need, None)
        found = View.fact(self, need)
        self.answered[need] = Answered(need, found)
        return found


class _WatchedGuard(Struct):
    """A guard that records each of its evaluations."""

    rule: Rule
    guard: Guard
    askings: list[Asking]

    def test(self, view: AnyView) -> Match | Needs | None:
        """Record the evaluation and return its result."""
        assert isinstance(view, View)
        seen = _WatchedView(
            view.session, view.event, view.slate, view.now, view.line, view.visited, {}
        )
        found: Match | Needs | None = None
        failed = True
        try:
            # Read every declared fact: a guard with a cached result does not ask for them again.
            for need in self.rule.needs:
                seen.fact(need)
            found = self.guard.test(seen)
            failed = False
        finally:
            match = None if isinstance(found, Needs) else found
            answered = tuple(seen.answered.values())
            self.askings.append(Asking(self.rule, seen, answered, match, failed))
        return found


class _Witness(Struct):
    uids: Container[str]
    askings: list[Asking] = field(default_factory=list)

    def book(self, book: Book) -> Book:
        return replace(book, groups=tuple(map(self._group, book.groups)))

    def _group(self, group: Group) -> Group:
        closing = tuple(map(self._rule, group.procedure.closing))
        procedure = replace(group.procedure, closing=closing)
        return replace(group, procedure=procedure, rules=tuple(map(self._rule, group.rules)))

    def _rule(self, rule: Rule) -> Rule:
        if rule.guard is None or rule.uid not in self.uids:
            return rule
        return replace(rule, guard=_WatchedGuard(rule, rule.guard, self.askings))


def decide_again(
    books: Iterable[Book], session: Session, event: Event, uids: Container[str]
) -> Testimony:
    """Decide an event with a session, and record the guards of the rules with these uids."""
    witness = _Witness(uids)
    rules = RuleSet(map(witness.book, books), fast=False)
    observed = observe(session, event)
    answer = deliberate(rules, observed, event)
    trace = answer.trace if isinstance(answer, Decision) else ()
    return Testimony(
        View.of(observed, event),
        {line.uid: line for line in trace},
        _telling(witness.askings),
        answer.needs if isinstance(answer, Needs) else (),
    )


def _telling(askings: Iterable[Asking]) -> dict[str, Asking]:
    """Keep for each uid the first evaluation that matched or failed, else the last one."""
    found: dict[str, Asking] = {}
    for one in askings:
        before = found.get(one.rule.uid)
        if before is None or (before.match is None and not before.failed):
            found[one.rule.uid] = one
    return found
