"""TOML rules through `decide` beside simpleeval on bare conditions, and in a long session.

Inside the timed part of ours is one call of `decide`: the event is counted, every part of the
context that a condition reads is made from session and event, the conditions are asked. simpleeval
gets the whole context made ready before.
"""

from __future__ import annotations

from importlib.metadata import version
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace
from table import Lap, Row, race

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.engine.view import View
from bylaw.expr.views import context_values
from bylaw.languages import toml_rules
from bylaw.languages.base import RuleFile
from bylaw.model.decision import Decision
from bylaw.model.event import Message, ToolAfter, ToolBefore, TurnStart
from bylaw.model.facts import Facts, Principal
from bylaw.model.fold import fold, observe
from bylaw.model.procedure import Book
from bylaw.model.session import Session
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import CallStatus, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.event import Event

AT_LEAST_FASTER = 10
# When a call has ended, most of the time goes into counting it.
AT_LEAST_WITH_COUNTING = 3
AT_MOST_LONGER = 1.2
# Of the document and of the examples beside it; none holds for the events that are timed.
CONDITIONS = (
    "context.turn.token_usage > 0.8",
    "context.turn.token_usage > 0.7 and context.history.total_tool_calls > 5",
    "context.result is not None and context.result.tool_name == 'vault_search'",
    "context.result is not None and context.result.duration_ms is not None",
    "context.result is not None and len(context.result.result) > 2000",
    "context.turn.iteration_count == 10",
    "context.turn.number % 10 == 0 and tool_completed('run_tests')",
    "context.history.total_failures > 4 and failure_count('run_tests') >= 3",
    "context.state.untested == True",
    "context.state.get('warned') is None and context.turn.context_usage > 0.9",
    "context_above_threshold(0.95) or context.turn.iteration_count > 30",
    "context.user.id == 'u7' and message_count_above(100)",
)
OVER_THE_WINDOW = (
    "any(t.name == 'rm' and not t.success for t in context.history.tools)",
    "len([m for m in context.history.messages if m.role == 'tool']) > 150",
)
_FACTS = Facts(token_budget=100_000, context_window=200_000, user=Principal(id="u1"))
_SEVEN = Principal(id="u7")
Peer: TypeAlias = "Callable[[dict[str, Any]], list[Any]]"
_RULE = """\
[rule]
id = "r{number}"
trigger = "{trigger}"
[condition]
expression = "{condition}"
[action]
type = "notify_self"
message = "turn {{{{ context.turn.number }}}}"
"""


def run() -> list[Row]:
    """All rows of TOML rules."""
    start, end = TurnStart(tokens=50_000, facts=_FACTS, seq=1, at=1), ended()
    return [
        _row("12 conditions, a turn starts", CONDITIONS, AFTER_TEN, start),
        _row("12 conditions, a call ended", CONDITIONS, AFTER_TEN, end, AT_LEAST_WITH_COUNTING),
        _row("2 over 200 calls", OVER_THE_WINDOW, session_after(300), start),
        _longer_session(),
    ]


def rule_set(conditions: Sequence[str], event: Event) -> RuleSet:
    """The rules of files with these conditions, for the hook of an event."""
    trigger = "on_turn_start" if isinstance(event, TurnStart) else "on_tool_complete"
    loaded = toml_rules.load(
        [
            RuleFile(
                SourceFile(
                    f"r{number}.toml",
                    _RULE.format(number=number, trigger=trigger, condition=condition),
                ),
                str(number),
            )
            for number, condition in enumerate(conditions)
        ]
    )
    assert not loaded.diagnostics
    book = Book(dialect="toml", path="rules", files=(), digest="", groups=loaded.groups)
    return RuleSet([book])


def session_after(calls: int) -> Session:
    """A session with this many calls, and a message for each; one more call is under way."""
    session = Session()
    for number in range(calls):
        tool, call = f"tool{number % 7}", f"c{number}"
        status = CallStatus.ERROR if number % 5 == 0 else CallStatus.OK
        for event in (
            ToolBefore(tool=tool, call=call, args={"n": number}),
            ToolAfter(tool=tool, call=call, status=status, result="done"),
            Message(role=Role.ASSISTANT, text="next"),
        ):
            session = fold(session, event, Decision())
    return fold(session, ToolBefore(tool="grep", call="now"), Decision())


AFTER_TEN = session_after(10)


def ended(tool: str = "grep", tokens: int = 50_000, result: str = "done") -> ToolAfter:
    """The event: a call that ended well."""
    return ToolAfter(
        tool=tool,
        call="now",
        status=CallStatus.OK,
        result=result,
        tokens=tokens,
        facts=_FACTS,
        seq=1,
        at=1,
    )


def _row(
    name: str,
    conditions: Sequence[str],
    session: Session,
    event: Event,
    budget: float = AT_LEAST_FASTER,
) -> Row:
    rules, peer = rule_set(conditions, event), _simpleeval(conditions)
    _check(rules, peer, session, event)
    times = race(
        {
            "ours": Lap(lambda _: decide(rules, session, event), [None]),
            "theirs": Lap(peer, [names_of(session, event)]),
        }
    )
    inside = "decide, the context made from the session, against bare trees with the context ready"
    return Row(f"{name}: simpleeval {version('simpleeval')}", inside, times["ours"],
               times["theirs"], budget)  # fmt: skip


def _check(rules: RuleSet, peer: Peer, session: Session, event: Event) -> None:
    """Both sides find the same, also where something holds."""
    others = [ended("vault_search"), ended(tokens=85_000), ended(result="x" * 3_000)]
    if isinstance(event, TurnStart):
        others = [replace(event, tokens=85_000), replace(event, facts=replace(_FACTS, user=_SEVEN))]
    for one in (event, *others):
        held = {f"r{n}" for n, found in enumerate(peer(names_of(session, one))) if found}
        decision = decide(rules, session, one)
        assert isinstance(decision, Decision)
        assert {plan.rule for plan in decision.plans} == held, (one, held)


def _simpleeval(conditions: Sequence[str]) -> Peer:
    from simpleeval import EvalWithCompoundTypes  # noqa: PLC0415 - a peer may be missing

    evaluator = EvalWithCompoundTypes()
    trees = [(text, evaluator.parse(text)) for text in conditions]

    def evaluate(names: dict[str, Any]) -> list[Any]:
        evaluator.names, evaluator.functions = names["names"], names["functions"]
        return [evaluator.eval(text, previously_parsed=tree) for text, tree in trees]

    return evaluate


def names_of(session: Session, event: Event) -> dict[str, Any]:
    """The whole context as objects, and the functions, as that evaluator takes them."""
    observed = observe(session, event)
    context = context_values("", [("context",)]).read(View.of(observed, event))
    state = {"untested": None, **context["state"]}  # it has no names that may be missing
    functions = {
        "len": len,
        "any": any,
        "tool_completed": lambda name: name in observed.calls.successes,
        "failure_count": lambda name: observed.calls.failures.get(name, 0),
        "message_count_above": lambda count: observed.history.length > count,
        "context_above_threshold": lambda x: context["turn"]["context_usage"] > x,
    }
    objects = _as_object(context)
    objects.state = state
    constants = {"True": True, "False": False, "None": None}
    return {"names": {"context": objects, **constants}, "functions": functions}


def _as_object(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _as_object(inner) for name, inner in value.items()})
    return [_as_object(item) for item in value] if isinstance(value, list) else value


def _longer_session() -> Row:
    event = ended()
    rules = rule_set(CONDITIONS, event)
    short, long = AFTER_TEN, session_after(10_000)
    times = race(
        {
            "short": Lap(lambda _: decide(rules, short, event), [None]),
            "long": Lap(lambda _: decide(rules, long, event), [None]),
        }
    )
    return Row("toml session: 10,000 calls, against 10", "decide with 12 rules that read totals",
               times["long"], times["short"], AT_MOST_LONGER, faster=False)  # fmt: skip
