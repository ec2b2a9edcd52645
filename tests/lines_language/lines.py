"""A language of one rule a line, installed through its entry point: it proves the seam.

# a comment; right above a rule it is what the rule is about
deny tool shell if count_calls('shell') >= 2 because twice is enough
deny file because files stay as they are
on turn.start if turn_index == 3 say three turns
on tool.after set seen = count_calls('shell')
on agent.stop run make test
off deny tool shell because this rule is switched off
core deny tool shell because nobody can switch this rule off
first      the first rule that matches ends the group
core       nothing may run if this file does not load
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import partial

from bylaw.expr.expression import load_guard
from bylaw.expr.guard_environment import guard_environment
from bylaw.expr.views import ExpressionGuard, guard_reader
from bylaw.languages.base import FixedReason, Launch, LaunchKind, LoadResult, WhenBroken
from bylaw.model.codes import Code, Example
from bylaw.model.diagnostic import error
from bylaw.model.effects import CommandRun, MessageInsert, StateSet
from bylaw.model.errors import LoadError
from bylaw.model.procedure import Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import Filter, Origin, PlanForm, Rule, RuleVerdict, Trigger, uid_of
from bylaw.model.session import variable_space
from bylaw.model.source import SourceFile, Span
from bylaw.model.suggest import did_you_mean
from bylaw.model.vocabulary import Kind, Op, Role, Verdict

name = "lines"
spec = "one rule a line, 1.0"
suffixes = (".lines",)
common_ending = False
one_book_per_file = False
when_broken = WhenBroken(
    group="lines", kinds=(Kind.TOOL_BEFORE, Kind.AGENT_STOP), verdict=Verdict.DENY
)

TIMEOUT_S = 10
SWITCHES = ("first", "core")
_EXAMPLE = Example("lines", "")
BAD_LINE = Code("bad-line", "a line that is no rule", "", "", _EXAMPLE)
UNKNOWN_KIND = Code("unknown-kind", "no such kind of event", "", "", _EXAMPLE)

_MARKS = re.compile(r"(?:(?:off|core) )*")
_DENY = re.compile(r"deny (?:tool (?P<tool>\S+)|file)(?: if (?P<guard>.+?))? because (?P<text>.+)")
_ON = re.compile(r"on (?P<kind>\S+)(?: if (?P<guard>.+?))? (?P<verb>say|set|run) (?P<rest>.+)")
_SET = re.compile(r"(?P<name>[a-z]\w*) = (?P<value>.+)")
_VARIABLE = re.compile(r"^on .* set ([a-z]\w*) = ", re.MULTILINE)


@dataclass(frozen=True)
class Fixed:
    """A step that is known at load."""

    step: MessageInsert | CommandRun

    @property
    def op(self):
        return self.step.op

    def make(self, view, match):
        return (self.step,)


@dataclass(frozen=True)
class Assign:
    """A variable gets the value that an expression has for this event."""

    space: str
    variable: str
    value: ExpressionGuard
    op: Op = Op.STATE_SET

    def make(self, view, match):
        read = self.value.reader.read(view, self.value.fields)
        value = self.value.expression.evaluate(read)
        return (StateSet(space=self.space, name=self.variable, value=value),)


def detect(source: SourceFile) -> bool:
    return source.text.startswith("#lines")


def rule_text(source: SourceFile) -> str:
    """All of it."""
    return source.text


def in_own_words(finding):
    """As it is."""
    return finding


def refuses_set(source: SourceFile) -> bool:
    return any(f"{line} ".startswith("core ") for line in source.text.split("\n"))


def starts(book, files):
    return [
        Launch(LaunchKind.PROGRAM, shlex.join(maker.step.argv), rule.uid)
        for group in book.groups
        for rule in group.rules
        for maker in rule.plan.steps
        if isinstance(maker, Fixed) and isinstance(maker.step, CommandRun)
    ]


def load(files):
    rules, findings, first = [], [], False
    for file in files:
        reader = _File(file)
        for number, line in enumerate(file.source.text.split("\n"), 1):
            try:
                rules += reader.rules(line.rstrip("\r"), number)
            except LoadError as refused:
                findings += refused.diagnostics
        first |= "first" in file.source.text.split("\n")
    procedure = Procedure(
        order=(SortKey.FILE, SortKey.SOURCE),
        flow=Flow.FIRST if first else Flow.ALL,
        guard_error=GuardFault.DENY,
        failed_step=StepFault.RECORD,
    )
    return LoadResult((Group("lines", 100, procedure, tuple(rules)),), tuple(findings))


class _File:
    def __init__(self, file):
        self.source = file.source
        self.path, self.digest = file.path, file.digest
        self.space = variable_space(name, file.path)
        self.variables = _VARIABLE.findall(file.source.text)
        self.reader = guard_reader(self.space, uid_of(name, file.path, ""))

    def rules(self, line, number):
        at = self.source.offset_of_utf16(number, 0)
        if not line.strip() or line.startswith("#") or line in SWITCHES:
            return []
        marks = _MARKS.match(line)[0]
        at, line = at + len(marks), line.removeprefix(marks)
        place = partial(self._span, at)
        rule = partial(
            Rule,
            uid=uid_of(name, self.path, f"line-{number}"),
            id=f"line-{number}",
            origin=Origin(self.path, number, 1, self.digest),
            enabled="off " not in marks,
            core="core " in marks,
            about=self._about(number),
        )
        if found := _DENY.fullmatch(line):
            return [self._deny(rule, found, place)]
        if found := _ON.fullmatch(line):
            return [self._on(rule, found, place)]
        span = Span(at, at + len(line))
        help_ = "write `deny tool …`, `on KIND …`, `first` or `core`"
        raise LoadError([error(BAD_LINE, "this is no rule", self.source, span, help=help_)])

    def _about(self, number):
        above = self.source.line_text(number - 1) if number > 1 else ""
        return {"description": above[1:].strip()} if above.startswith("#") else {}

    def _span(self, at, found, part):
        return Span(*found.span(part)).shift(at)

    def _deny(self, rule, found, place):
        return rule(
            on=Trigger(kinds=(Kind.TOOL_BEFORE if found["tool"] else Kind.FILE,)),
            filter=Filter(tools=(found["tool"],) if found["tool"] else ()),
            guard=self._guard(found, place, "guard"),
            judgement=RuleVerdict(Verdict.DENY, FixedReason(found["text"])),
        )

    def _on(self, rule, found, place):
        if found["kind"] not in set(Kind):
            headline, help_ = f"`{found['kind']}` is not a kind", did_you_mean(found["kind"], Kind)
            span = place(found, "kind")
            raise LoadError([error(UNKNOWN_KIND, headline, self.source, span, help=help_)])
        return rule(
            on=Trigger(kinds=(Kind(found["kind"]),)),
            guard=self._guard(found, place, "guard"),
            plan=PlanForm(steps=(self._step(found, place),)),
        )

    def _step(self, found, place):
        rest = place(found, "rest")
        if found["verb"] == "say":
            return Fixed(MessageInsert(role=Role.DEVELOPER, text=found["rest"]))
        if found["verb"] == "run":
            return Fixed(_run(found["rest"]))
        parts = _SET.fullmatch(found["rest"])
        if parts is None:
            raise LoadError([error(BAD_LINE, "this sets nothing", self.source, rest)])
        value = self._guard(parts, partial(self._span, rest.start), "value")
        return Assign(self.space, parts["name"], value)

    def _guard(self, found, place, part):
        if found[part] is None:
            return None
        environment = guard_environment(self.variables)
        return ExpressionGuard(
            load_guard(self.source, place(found, part), environment), self.reader
        )


def _run(text):
    return CommandRun(argv=tuple(text.split()), cwd=".", timeout_s=TIMEOUT_S)
