"""Short words for building books by hand: rules, groups and the procedures of the languages.

The procedures of the five languages are data. What a language demands beyond its
written rules (notes on failures, `held`, `no matching rule`, unknown commands) stands here as
built-in rules, as a dialect would bring them.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from bylaw.expr.expression import load_guard
from bylaw.expr.guard_environment import guard_environment
from bylaw.expr.views import ExpressionGuard, guard_reader
from bylaw.model.decision import Match, TraceResult
from bylaw.model.effects import BusWrite, MessageInsert, StateSet
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
    Filter,
    Limits,
    Origin,
    PlanForm,
    Rule,
    RuleVerdict,
    Trigger,
)
from bylaw.model.session import variable_space
from bylaw.model.source import SourceFile, Span
from bylaw.model.vocabulary import Channel, Kind, Op, Role, Verdict

VARIABLES = ("n", "mode", "seen")
PATHS = {
    "chatmd": "main.chatmd",
    "toml": "rules",
    "context": "contract.md",
    "law": "runtime/rules",
    "policies": ".deepwork/policies",
}


@dataclass(frozen=True)
class Says:
    """A reason; `{name}` is filled in from the match, so that tests see what a guard found."""

    text: str

    def make(self, view, match):
        return self.text.format_map(match.values) if match.values else self.text


@dataclass(frozen=True)
class Does:
    """A step that was finished at load."""

    step: object

    @property
    def op(self):
        return self.step.op

    def make(self, view, match):
        return (self.step,)


@dataclass(frozen=True)
class Makes:
    """Steps that a function computes from view and match: one, several, or None."""

    op: Op
    function: object

    def make(self, view, match):
        made = self.function(view, match)
        return made if isinstance(made, list) else () if made is None else (made,)


@dataclass(frozen=True)
class Sets:
    """A variable gets the value of an expression, as in `<set var value>`."""

    variable: str
    value: str
    path: str = PATHS["chatmd"]
    op: Op = Op.STATE_SET

    def make(self, view, match):
        guard = expression(self.value, "chatmd", self.path)
        value = guard.expression.evaluate(guard.reader.read(view, guard.fields))
        space = variable_space("chatmd", self.path)
        return (StateSet(space=space, name=self.variable, value=value),)


@dataclass(frozen=True)
class Check:
    """A named pure function of a dialect; it may raise, and it may ask for facts."""

    test: object
    name: str = field(default="check", compare=False)


@lru_cache
def _reader(dialect, path):
    return guard_reader(variable_space(dialect, path), f"{dialect}:{path}#")


@lru_cache
def expression(text, dialect="chatmd", path=PATHS["chatmd"]):
    """A guard from text, with the variables of its file."""
    environment = guard_environment(VARIABLES)
    loaded = load_guard(SourceFile("guard", text), Span(0, len(text)), environment)
    return ExpressionGuard(loaded, _reader(dialect, path))


def insert(text, role=Role.DEVELOPER):
    """A step that appends a message."""
    return MessageInsert(role=role, text=text)


def rule(
    rule_id, *kinds, when=None, verdict=None, because="", steps=(), dialect="chatmd", **fields
):
    """One rule; `when` is a text or a check, steps are makers or finished steps."""
    path = fields.pop("path", PATHS[dialect])
    return Rule(
        uid=f"{dialect}:{path}#{rule_id}",
        id=rule_id,
        origin=Origin(path, fields.pop("line", 1), 1, "digest"),
        on=Trigger(kinds=kinds, **_taken(fields, "status", "rounds")),
        filter=fields.pop("filter", Filter(**_taken(fields, "tools"))),
        limits=Limits(**_taken(fields, "once", "cooldown_turns", "cooldown_ms")),
        guard=expression(when, dialect, path) if isinstance(when, str) else when,
        judgement=None if verdict is None else RuleVerdict(verdict, Says(because or rule_id)),
        plan=PlanForm(
            steps=_makers(steps),
            on_error=_makers(fields.pop("on_error", ())),
            **_taken(fields, "on_failure", "ends_group_on_failure", "summary", "again"),
        ),
        **fields,
    )


def _taken(fields, *names):
    return {name: fields.pop(name) for name in names if name in fields}


def _makers(steps):
    return tuple(step if hasattr(step, "make") else Does(step) for step in steps)


def _built_in(dialect, rule_id, *kinds, **fields):
    return rule(rule_id, *kinds, dialect=dialect, path="builtin", line=0, free=True, **fields)


def _note(dialect, rule_id, text):
    """A developer message about a failure (CM-A20, CM-091)."""
    made = Makes(Op.MESSAGE_INSERT, lambda view, match: insert(text.format_map(match.values)))
    return _built_in(dialect, rule_id, *Kind, steps=[made])


CHATMD_POLICY = Procedure(
    # Requires, validate, quota, cooldown are the ranks 1 to 4.
    order=(SortKey.RANK, SortKey.SOURCE),
    flow=Flow.ALL,
    guard_error=GuardFault.DENY,
    failed_step=StepFault.DROP_REST_WITH_NOTE,
    fault_reason=Says("guard error in {rule}"),
)
CHATMD_RULES = Procedure(
    order=(SortKey.PRIORITY_ASCENDING, SortKey.SOURCE),
    flow=Flow.UNTIL_LAST,
    guard_error=GuardFault.SKIP_WITH_NOTE,
    failed_step=StepFault.DROP_REST_WITH_NOTE,
    budget=1,
    call_budget=1,
    quiet_after_deny=True,
    fault_reason=Says("guard error in {rule}"),
    fault_note=_note("chatmd", "guard-error", "guard error in {rule}: {error}"),
    step_note=_note("chatmd", "step-error", "action of {rule} failed: {error}"),
)
TOML = Procedure(
    order=(SortKey.PRIORITY_DESCENDING, SortKey.ID),
    flow=Flow.ALL,
    guard_error=GuardFault.SKIP,
    failed_step=StepFault.RECORD,
)


def _is_unknown_call(view):
    """A line that begins like a call and that no command took."""
    took = (TraceResult.FIRED, TraceResult.GUARD_ERROR)
    if any(entry.result in took for entry in view.visited) or "(" not in view.line:
        return None
    name = view.line.partition("(")[0].removeprefix("/")
    return Match({"name": name}) if view.line.startswith("/") else None


CONTEXT_COMMANDS = Procedure(
    order=(SortKey.SOURCE,),
    flow=Flow.ALL,
    guard_error=GuardFault.HALT,
    failed_step=StepFault.HALT,
    writes=Writes.TOGETHER,
    split_lines=True,
    fault_reason=Says("ERROR {code}: {error}"),
    closing=(
        _built_in(
            "context",
            "unknown-command",
            Kind.PROMPT,
            when=Check(_is_unknown_call),
            verdict=Verdict.HALT,
            because="ERROR UNKNOWN_ID: {name}",
        ),
    ),
)
CONTEXT_CHECKS = Procedure(
    order=(SortKey.RANK, SortKey.SOURCE),
    flow=Flow.ALL,
    guard_error=GuardFault.HALT,
    failed_step=StepFault.HALT,
    writes=Writes.TOGETHER,
    fault_reason=Says("ERROR {code}: {error}"),
)


def _lacked_approval_alone(entry):
    return bool(entry.closed) and all(isinstance(gate, ApprovalGate) for gate in entry.closed)


def _is_held(view):
    """A rule was closed by its approval alone, and no command ran after it."""
    held = False
    for entry in view.visited:
        if _lacked_approval_alone(entry):
            held = True
        elif entry.fired and Op.COMMAND_RUN in entry.ops:
            held = False
    return Match() if held else None


def _is_unmatched(view):
    if _is_held(view) or any(entry.fired for entry in view.visited):
        return None
    return Match()


LAW = Procedure(
    order=(SortKey.PRIORITY_ASCENDING, SortKey.FILE, SortKey.SOURCE),
    flow=Flow.FIRST,
    guard_error=GuardFault.NOT_SATISFIED,
    failed_step=StepFault.ON_ERROR,
    closing=(
        _built_in(
            "law",
            "held",
            Kind.BUS,
            when=Check(_is_held),
            verdict=Verdict.ASK,
            because="held until it is approved",
        ),
        _built_in(
            "law",
            "no-match",
            Kind.BUS,
            when=Check(_is_unmatched),
            verdict=Verdict.DENY,
            because="no matching rule",
            steps=[BusWrite(channel=Channel.ERROR, text="no matching rule")],
        ),
    ),
)
FILE_POLICIES = Procedure(
    # Commands have rank 1, prompts rank 2.
    order=(SortKey.RANK, SortKey.ID),
    flow=Flow.ALL,
    guard_error=GuardFault.SKIP,
    failed_step=StepFault.MARK_ENTRY,
)

# Dialect, visiting order and procedure of every group there is.
GROUPS = {
    "commands": ("context", 1, CONTEXT_COMMANDS),
    "checks": ("context", 2, CONTEXT_CHECKS),
    "policy": ("chatmd", 3, CHATMD_POLICY),
    "law": ("law", 4, LAW),
    "rules": ("chatmd", 5, CHATMD_RULES),
    "toml": ("toml", 6, TOML),
    "policies": ("policies", 7, FILE_POLICIES),
}


def group(name, *rules, procedure=None):
    """One of the seven groups with its rules."""
    _, visit, usual = GROUPS[name]
    return Group(name, visit, procedure or usual, rules)


def book(*groups, path=None):
    """A book of the groups of one dialect."""
    dialect = GROUPS[groups[0].name][0]
    path = path or PATHS[dialect]
    return Book(dialect=dialect, path=path, files=(path,), digest="digest", groups=groups)
