"""Random books, events and sessions for the property tests of the engine.

Everything is drawn from small closed sets, so that rules often concern the same event, share
variables, run out of budget, fail, stop one another and answer what they caused. A library is
thrown with dice from one string of bytes: hypothesis is quick with those and shrinks them to
zeros, so the plainest choice stands first in every list.
"""

from itertools import count

from forms import Check, Does, Makes, Says, insert, rule
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace
from msgspec.structs import replace as changed

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.model.decision import Match, Need, NeedName, Needs, OnFailure
from bylaw.model.effects import EventEmit, Log, Notify, RulesEnable, StateSet, ToolCall
from bylaw.model.errors import GuardError, NotNeeded, RenderError
from bylaw.model.event import (
    AgentStop,
    Bus,
    Custom,
    Message,
    Prompt,
    SessionEnd,
    ToolAfter,
    ToolBefore,
    TurnEnd,
    TurnStart,
)
from bylaw.model.facts import Facts, LawFacts, ScriptResult, ToolFacts, WorkFacts
from bylaw.model.fold import fold
from bylaw.model.procedure import (
    Book,
    Flow,
    Group,
    GuardFault,
    Procedure,
    SortKey,
    StepFault,
    Writes,
)
from bylaw.model.rule import (
    ApprovalGate,
    ApprovalMode,
    EnabledGate,
    EnabledSet,
    Origin,
    PhaseGate,
    Rounds,
)
from bylaw.model.session import Session, variable_space
from bylaw.model.vocabulary import (
    Authority,
    CallStatus,
    DeliverAt,
    Kind,
    Op,
    Priority,
    Role,
    Verdict,
)

RANDOM = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=150)


class Dice:
    """Bytes as choices, one a throw; when they have run out, the first choice."""

    def __init__(self, thrown):
        self._thrown = iter(thrown)

    def pick(self, options):
        return options[next(self._thrown, 0) % len(options)]

    def some(self, options, most):
        return [self.pick(options) for _ in range(self.pick(range(most + 1)))]


KINDS = [
    Kind.TOOL_BEFORE,
    Kind.TOOL_AFTER,
    Kind.MESSAGE,
    Kind.TURN_START,
    Kind.TURN_END,
    Kind.PROMPT,
    Kind.AGENT_STOP,
    Kind.BUS,
    Kind.CUSTOM,
]
# Some hold, some do not, some fail always or only without an argument or a variable; those that
# begin with a comparison to a text are looked up on the fast path.
GUARDS = [
    *["true"] * 8,
    "false",
    "turn_index % 2 == 1",
    "history_length > 1",
    "last_role == 'user'",
    "last_role == 'developer'",
    "last_role == 'tool' and history_length > 0",
    "last_role == 'none' and n == 1",
    "event.tool.name == 'shell'",
    "event.tool.name == 'edit' and arg('n') > 1",
    "'ls' == event.tool.name",
    "event.tool.name == 'nosuch' and 1 / 0 == 1",
    "arg('n') == 'x'",
    "arg('n') > 1",
    "1 / 0 == 1",
    "n == 1",
    "n > 0",
    "count_calls('shell') >= 1",
    "since_ms('r1') > 2",
]


def _fault(view):
    raise GuardError("broken", "it cannot be told")


def _crash(view):
    raise ValueError("a bug")


def _needs_script(view):
    result = view.fact(Need(NeedName.SCRIPTS, "s1"))
    return Match({"value": str(result.value)}) if result.value else None


FAILING = [Check(_fault), Check(_crash)]
CHECKS = [
    None,
    Check(lambda view: Match({"tool": "x"})),
    Check(lambda view: None),
    Check(lambda view: Match() if view.line == "a" else None),
    Check(lambda view: Match() if view.event.round == 2 else None),
    Check(_needs_script),
    *FAILING,
]
CLOSING_CHECKS = [
    Check(lambda view: None if any(v.fired for v in view.visited) else Match()),
    Check(lambda view: Match() if any(v.closed for v in view.visited) else None),
    Check(lambda view: Match() if any(v.ops for v in view.visited) else None),
]


def _unmade(view, match):
    raise RenderError("unmade", "no such field")


class Counts(Struct, frozen=True):
    """Adds one to a variable, so that what was read shows in what is written."""

    space: str
    op: Op = Op.STATE_SET

    def make(self, view, match):
        before = view.slate.space(self.space).get("n", 0)
        return (StateSet(space=self.space, name="n", value=before + 1),)


def _spared(view, match):
    raise NotNeeded("there is nothing to do")


def _told(view, match):
    return insert(f"kept {match.values['kept']}, skipped {match.values['skipped']}")


NOTHING = Makes(Op.LOG, lambda view, match: None)
SPARED = Makes(Op.LOG, _spared)
TOLD = Makes(Op.MESSAGE_INSERT, _told)
UNMADE = Makes(Op.LOG, _unmade)
AT_ONCE = Does(Notify(text="now", deliver_at=DeliverAt.IMMEDIATE))
OBSERVING = [
    Does(Log(text="seen")),
    Does(Notify(text="soon", deliver_at=DeliverAt.TURN_START)),
    Does(Notify(text="then", deliver_at=DeliverAt.AFTER_TOOL, priority=Priority.HIGH)),
    AT_ONCE,
    Does(EventEmit(type="t")),
    UNMADE,
    NOTHING,
]
ACTING = [
    Does(insert("noted")),
    Does(insert("said", Role.USER)),
    Does(ToolCall(tool="shell")),
    Makes(Op.TOOL_CALL, lambda view, match: [ToolCall(tool="edit"), insert("called")]),
    SPARED,
    *OBSERVING,
]


def writing(space):
    """Steps that change what later rules read."""
    return [
        Does(StateSet(space=space, name="n", value=1)),
        Counts(space),
        Makes(Op.STATE_SET, lambda v, m: [StateSet(space=space, name="n", value=2), insert("n")]),
        Does(RulesEnable(protocols=("p",))),
    ]


GATES = [
    *[()] * 9,
    (EnabledGate(EnabledSet.PROTOCOLS, "p"),),
    (PhaseGate((1, 2)),),
    (ApprovalGate(ApprovalMode.SINGLE, (Authority.HUMAN,)),),
]
ORDERS = [
    (SortKey.SOURCE,),
    (SortKey.ID,),
    (SortKey.RANK, SortKey.SOURCE),
    (SortKey.PRIORITY_ASCENDING, SortKey.SOURCE),
    (SortKey.PRIORITY_DESCENDING, SortKey.ID),
    (SortKey.PRIORITY_ASCENDING, SortKey.FILE, SortKey.SOURCE),
    (SortKey.FILE, SortKey.SOURCE),
]
SELDOM = [False, False, False, True]


class Which(Struct, frozen=True):
    """Which books to throw; the defaults allow everything."""

    checks: bool = True
    most_rules: int = 7
    verdicts: tuple = (None, None, Verdict.DENY, Verdict.WARN, Verdict.ASK, Verdict.HALT)
    gates: tuple = tuple(GATES)
    writes: bool = True
    # Closing rules, reading line by line and second rounds reach beyond their own rule.
    reaching: bool = True
    notices: bool = True


EVERYTHING = Which()
# Nothing but expressions: these take the fast path, unless a gate asks for a fact.
PLAIN = Which(checks=False, reaching=False)


def thrown_rule(dice, dialect, path, number, which):
    """One rule; its number makes uid, id and line unique in its book."""
    guards = [*GUARDS, *CHECKS] if which.checks else GUARDS
    makers = [*ACTING, *(writing(variable_space(dialect, path)) if which.writes else ())]
    if not which.notices:
        makers = [maker for maker in makers if maker.op is not Op.NOTIFY]
    made = rule(
        f"r{number}",
        *dice.pick([KINDS, KINDS[:3], KINDS[2:], dice.some(KINDS, 4)]),
        dialect=dialect,
        path=path,
        when=dice.pick(guards),
        verdict=dice.pick(which.verdicts),
        steps=dice.some(makers, 3),
        on_error=dice.some(OBSERVING[:1], 1),
        on_failure=dice.pick(list(OnFailure)),
        summary=dice.pick([None, None, None, TOLD]),
        again=which.reaching and dice.pick(range(8)) == 1,
        status=dice.pick([(), (), (CallStatus.OK,)]),
        rounds=dice.pick([Rounds.ANY, Rounds.ANY, Rounds.FIRST, Rounds.LAST]),
        tools=dice.pick([(), (), ("shell",), ("edit", "mcp")]),
        once=dice.pick(SELDOM),
        cooldown_turns=dice.pick([0, 0, 0, 1]),
        cooldown_ms=dice.pick([0, 0, 0, 2]),
        gates=dice.pick(which.gates),
        priority=dice.pick(range(3)),
        rank=dice.pick(range(2)),
        last=dice.pick(SELDOM),
        goes_on=dice.pick([False, True]),
        free=dice.pick(SELDOM),
    )
    return changed(made, origin=Origin(path, number, 1, ""))


def _in_two_files(one, number, order):
    """Lines may be equal in two files where the order looks at the file first."""
    line = number // 2 if SortKey.FILE in order else number
    return changed(
        one, origin=changed(one.origin, file=f"{one.origin.file}/{number % 2}", line=line)
    )


NOTE = rule("note", *Kind, path="builtin", steps=[insert("a failure")], free=True)


def thrown_procedure(dice, which):
    """How a group is read."""
    return Procedure(
        order=dice.pick(ORDERS),
        flow=dice.pick(list(Flow)),
        guard_error=dice.pick(list(GuardFault)),
        failed_step=dice.pick(list(StepFault)),
        writes=dice.pick(list(Writes)),
        budget=dice.pick([None, None, 1, 2, 0]),
        call_budget=dice.pick([None, 1, 0]),
        split_lines=which.reaching and dice.pick(SELDOM),
        quiet_after_deny=dice.pick(SELDOM),
        closing=tuple(_closing(dice)) if which.reaching else (),
        fault_reason=dice.pick([None, Says("guard error in {rule}")]),
        fault_note=dice.pick([None, NOTE]),
        step_note=dice.pick([None, NOTE]),
    )


def _closing(dice):
    for number, check in enumerate(dice.some(CLOSING_CHECKS, dice.pick([0, 0, 0, 2]))):
        verdict = dice.pick([None, Verdict.ASK, Verdict.DENY])
        steps = [insert("closing")]
        yield rule(
            f"closing-{number}",
            *KINDS,
            path="builtin",
            when=check,
            verdict=verdict,
            steps=steps,
            free=True,
        )


def thrown_book(dice, dialect, path, which=EVERYTHING):
    """One book with one or two groups; its rules stand in two files."""
    numbers = count(1)
    groups = []
    for place in range(dice.pick([1, 2])):
        procedure = thrown_procedure(dice, which)
        made = []
        for _ in range(dice.pick(range(which.most_rules, -1, -1))):
            number = next(numbers)
            one = thrown_rule(dice, dialect, path, number, which)
            made.append(_in_two_files(one, number, procedure.order))
        visit = dice.pick(range(9)) * 2 + place
        groups.append(Group(f"g{place}", visit, procedure, tuple(made)))
    return Book(dialect=dialect, path=path, files=(path,), digest="", groups=tuple(groups))


NAMES = [("chatmd", "a"), ("chatmd", "b"), ("toml", "rules")]


class Library(list):
    """Books that are shown short, as their groups and rules."""

    def __repr__(self):
        return "\n".join(_shown(each) for made in self for each in made.groups)


def _shown(group):
    parts = {part: getattr(group.procedure, part) for part in group.procedure.__struct_fields__}
    parts["closing"] = [one.id for one in parts["closing"]]
    parts |= {part: bool(parts[part]) for part in ("fault_note", "step_note")}
    how = ", ".join(f"{part}={value!s}" for part, value in parts.items() if value)
    return "\n".join([f"{group.name} visit={group.visit} {how}", *map(_shown_rule, group.rules)])


def _shown_rule(one):
    expression = getattr(one.guard, "expression", None)
    text = expression._text(expression.span) if expression else one.guard
    steps = [getattr(maker, "step", maker) for maker in one.plan.steps]
    kinds = [kind.value for kind in one.on.kinds]
    verdict = one.judgement and one.judgement.verdict
    more = f"last={one.last} goes_on={one.goes_on} {one.on.rounds} {one.gates} {one.limits}"
    return f"  {one.uid} {kinds} if={text} {verdict} {steps} {more}"


@st.composite
def thrown(draw, make, throws):
    """What a function makes of this many throws."""
    return make(Dice(draw(st.binary(min_size=throws, max_size=throws))))


def libraries(which=EVERYTHING):
    """One to three books of two dialects."""
    return thrown(
        lambda dice: Library(
            thrown_book(dice, *name, which) for name in NAMES[: dice.pick([1, 2, 3])]
        ),
        800,
    )


UIDS = [f"chatmd:a#r{number}" for number in range(1, 6)]
FACTS = [
    {},
    {},
    {"scripts": {"s1": ScriptResult(value=True)}},
    {"scripts": {"s1": ScriptResult(killed=True)}},
    {"disabled": (UIDS[0],)},
]


def thrown_event(dice):
    """An event of any kind that rules look at."""
    facts = dice.pick(FACTS)
    common = {
        "cause": dice.pick([(), (), (), (UIDS[0],), tuple(UIDS[1:3])]),
        "round": dice.pick([1, 1, 1, 2]),
        "agent": dice.pick(["", "", "", "sub"]),
    }
    call = {
        **common,
        "facts": ToolFacts(**facts),
        "tool": dice.pick(["shell", "edit", "ls"]),
        "also": dice.pick([(), ("mcp",)]),
        "args": dice.pick([{}, {"n": 2}, {"n": "x"}, {"n": [1]}]),
        "call": dice.pick(["", "c1", "c2"]),
    }
    work = {**common, "facts": WorkFacts(**facts)}
    return dice.pick(
        [
            lambda: ToolBefore(**call),
            lambda: ToolBefore(**call),
            lambda: ToolAfter(**call, status=dice.pick(list(CallStatus))),
            lambda: Message(**work, role=dice.pick(list(Role)), text="hi"),
            lambda: TurnStart(**common, facts=Facts(**facts)),
            lambda: TurnEnd(**common, facts=Facts(**facts), text="a"),
            lambda: Prompt(**work, text=dice.pick(["a", "b\na\nc", ""])),
            lambda: AgentStop(**work, text="a\nb"),
            lambda: Custom(**common, facts=Facts(**facts), type="t"),
            lambda: Bus(
                **common,
                facts=LawFacts(**facts, phase=1, approvals=()),
                message=dice.pick([{"msg_id": "m"}, None]),
            ),
            lambda: SessionEnd(**common, facts=Facts(**facts)),
        ]
    )()


histories = thrown(lambda dice: [thrown_event(dice) for _ in range(dice.pick(range(1, 8)))], 90)


def stamped(event, session):
    """The event at the next moment of a session."""
    return replace(event, seq=session.seq + 1, at=session.at + 1)


def answered(rule_set, session, event):
    """The event with all that it needs marked as unknown, and the decision on it."""
    while isinstance(decision := decide(rule_set, session, event), Needs):
        unknown = tuple(f"{need.name}:{need.key}" for need in decision.needs)
        facts = replace(event.facts, unknown=(*event.facts.unknown, *unknown))
        event = replace(event, facts=facts)
    return event, decision


def lived(library, history, *, fast=True):
    """Session before, event and decision, event by event."""
    rule_set, session = RuleSet(library, fast=fast), Session()
    for event in history:
        asked, decision = answered(rule_set, session, stamped(event, session))
        yield session, asked, decision
        session = fold(session, asked, decision)
