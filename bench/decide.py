"""`decide` beside the bare guards of everybody else, and how it grows with rules and sessions.

Inside the timed part is one call of `decide`: the session as guards see it, the index, the guards,
limits, verdicts, finished steps. The trace is made when somebody asks and is not asked here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import handwritten
from bucket import CHAT, Bucket
from guards import peers
from table import Lap, Row, race

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.expr.expression import load_guard
from bylaw.expr.guard_environment import guard_environment
from bylaw.expr.views import ExpressionGuard, guard_reader
from bylaw.model.calls import Calls, CallTotals
from bylaw.model.decision import Decision
from bylaw.model.effects import MessageInsert
from bylaw.model.event import ToolAfter, ToolBefore
from bylaw.model.fold import fold
from bylaw.model.history import History
from bylaw.model.procedure import Book, Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import Filter, Origin, PlanForm, Rule, Trigger
from bylaw.model.session import Session, Turns
from bylaw.model.source import SourceFile, Span
from bylaw.model.vocabulary import CallStatus, Kind, Op, Role

if TYPE_CHECKING:
    from collections.abc import Iterable

QUIET, FIRING = CHAT.events[3][0], CHAT.events[0][0]
AT_MOST_QUIET, AT_MOST_FIRING = 10, 40
AT_MOST_MORE_RULES, AT_MOST_MORE_RELEVANT, AT_MOST_LONGER = 1.2, 4, 1.2

_READER = guard_reader("chatmd:bench", "chatmd:bench#")
_PROCEDURE = Procedure(
    order=(SortKey.PRIORITY_ASCENDING, SortKey.SOURCE),
    flow=Flow.UNTIL_LAST,
    guard_error=GuardFault.SKIP_WITH_NOTE,
    failed_step=StepFault.DROP_REST_WITH_NOTE,
    budget=1,
)


@dataclass(frozen=True)
class Insert:
    """The step of every rule here."""

    op: Op = Op.MESSAGE_INSERT

    def make(self, _view: object, _match: object) -> tuple[MessageInsert]:
        """One developer message."""
        return (MessageInsert(role=Role.DEVELOPER, text="read the file first"),)


def rule(number: int, guard: str, tool: str = "", kind: Kind = Kind.TOOL_BEFORE) -> Rule:
    """A rule with one effect."""
    text = SourceFile("guard", guard)
    loaded = load_guard(text, Span(0, len(guard)), guard_environment())
    return Rule(
        uid=f"chatmd:bench#{number}",
        id=str(number),
        origin=Origin("bench", number, 1, ""),
        on=Trigger(kinds=(kind,)),
        filter=Filter(tools=(tool,) if tool else ()),
        guard=ExpressionGuard(loaded, _READER),
        plan=PlanForm(steps=(Insert(),)),
    )


def rule_set(rules: Iterable[Rule]) -> RuleSet:
    """One book with one group."""
    group = Group("rules", 0, _PROCEDURE, tuple(rules))
    return RuleSet([Book(dialect="chatmd", path="bench", files=(), digest="", groups=(group,))])


def session_of(facts: dict[str, Any]) -> Session:
    """A session that has these facts."""
    tallies = {name: CallTotals(count=1, last_turn=1, in_last_turn=1) for name in facts["called"]}
    return Session(
        turns=Turns(completed=facts["turn_index"] - 1, open=True),
        history=History(tokens=facts["context_tokens"], last_role=facts["last_role"]),
        calls=Calls(by_name=tallies),
    )


def run() -> list[Row]:
    """All rows of `decide`."""
    return [*_against_others(CHAT), *_more_rules(), _longer_session()]


def _lap(rules: RuleSet, session: Session, event: Any) -> Lap:
    rules.bucket(event)  # compiled when it is first met, as in a session
    return Lap(lambda _: decide(rules, session, event), [None])


def _against_others(bucket: Bucket) -> list[Row]:
    three = rule_set(rule(number, guard) for number, guard in enumerate(bucket.guards, 1))
    by_hand = handwritten.contenders(bucket)[0]
    others = {f"{peer.name}{', bare' * peer.bare}": peer for peer in peers(bucket)}
    quiet, firing = (_lap_of(three, facts) for facts in (QUIET, FIRING))
    _check(three)
    times = race(
        {
            "quiet": quiet,
            "firing": firing,
            "hand": Lap(by_hand.evaluate, [by_hand.prepare(QUIET)]),
            **{name: Lap(peer.evaluate, [peer.prepare(QUIET)]) for name, peer in others.items()},
        }
    )
    inside = "decide with 3 rules against three plain functions over a view that is there"
    return [
        Row(f"nothing fires: {by_hand.name}", inside, times["quiet"], times["hand"],
            AT_MOST_QUIET, faster=False),
        Row(f"one rule fires, one effect: {by_hand.name}", inside, times["firing"], times["hand"],
            AT_MOST_FIRING, faster=False),
        *(Row(f"nothing fires: {name}", f"decide against its guards alone: {peer.inside}",
              times["quiet"], times[name], 1) for name, peer in others.items()),
    ]  # fmt: skip


def _lap_of(rules: RuleSet, facts: dict[str, Any]) -> Lap:
    event = ToolBefore(tool=facts["event"]["tool"]["name"], call="c1", seq=1, at=1)
    return _lap(rules, session_of(facts), event)


def _check(three: RuleSet) -> None:
    for facts, fired in ((QUIET, 0), (FIRING, 1)):
        event = ToolBefore(tool=facts["event"]["tool"]["name"], call="c1", seq=1, at=1)
        decision = decide(three, session_of(facts), event)
        assert isinstance(decision, Decision)
        assert len(decision.plans) == fired


def _more_rules() -> list[Row]:
    session, event = session_of(QUIET), ToolBefore(tool="grep", call="c1", seq=1, at=1)
    ten = [rule(number, CHAT.guards[number % 3]) for number in range(10)]
    others = [rule(10 + n, "turn_index > 3", kind=Kind.TURN_END) for n in range(9_990)]
    few = [_named(number) for number in range(100)]
    many = [_named(number) for number in range(10_000)]
    times = race(
        {
            "10": _lap(rule_set(ten), session, event),
            "10 of 10,000": _lap(rule_set([*ten, *others]), session, event),
            "1 of 100": _lap(rule_set(few), session, event),
            "100 of 10,000": _lap(rule_set(many), session, event),
        }
    )
    return [
        Row("10 relevant rules of 10,000, against 10 of 10", "decide; others are about turn.end",
            times["10 of 10,000"], times["10"], AT_MOST_MORE_RULES, faster=False),
        Row("1 % relevant of 10,000, against of 100", "decide; each relevant guard begins with "
            "arg('path') == …", times["100 of 10,000"], times["1 of 100"], AT_MOST_MORE_RELEVANT,
            faster=False),
    ]  # fmt: skip


def _named(number: int) -> Rule:
    kind = Kind.TOOL_BEFORE if number % 100 == 0 else Kind.TURN_END
    call = f"arg('path') == 'src/{number}.py' and " if kind is Kind.TOOL_BEFORE else ""
    return rule(number, f"{call}context_tokens > 10", kind=kind)


def _longer_session() -> Row:
    three = rule_set(rule(number, guard) for number, guard in enumerate(CHAT.guards, 1))
    event = ToolBefore(tool="grep", call="c1", seq=1, at=1)
    times = race({calls: _lap(three, _after(calls), event) for calls in (10, 10_000)})
    inside = "decide in a session of 10,000 calls, against one of 10"
    return Row("10,000 calls, against 10", inside, times[10_000], times[10], AT_MOST_LONGER,
               faster=False)  # fmt: skip


def _after(calls: int) -> Session:
    session = Session()
    for number in range(calls):
        call = f"c{number}"
        before = ToolBefore(tool=f"tool{number % 7}", call=call, seq=2 * number + 1, at=number)
        after = ToolAfter(tool=before.tool, call=call, status=CallStatus.OK, seq=2 * number + 2)
        session = fold(fold(session, before, Decision()), after, Decision())
    return session
