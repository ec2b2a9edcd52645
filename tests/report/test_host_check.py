"""What a host cannot do with a rule: rules that no language here writes, and the tables behind."""

from dataclasses import dataclass

import pytest

from bylaw.hosts.clients import load_adapter
from bylaw.hosts.clients.base import Call, HookEvent
from bylaw.hosts.hooks.events import events_of
from bylaw.languages.base import FixedReason, RuleFile
from bylaw.model.procedure import Book, Flow, Group, GuardFault, Procedure, SortKey, StepFault
from bylaw.model.rule import Origin, PlanForm, Rule, RuleVerdict, Trigger
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import CallStatus, HookPoint, Kind, Op, Verdict
from bylaw.report.check import check_host
from bylaw.runtime.effects import ABILITIES, CARRIES_OUT, KINDS_AT, SENDS, TITLES
from bylaw.runtime.loader import Library, LoadedBook
from bylaw.runtime.rule_files import FoundRuleFile, RuleFileReason, SearchResult

PATH = "rules.txt"
PROCEDURE = Procedure(
    order=(SortKey.SOURCE,),
    flow=Flow.ALL,
    guard_error=GuardFault.DENY,
    failed_step=StepFault.RECORD,
)
clients = pytest.mark.parametrize("host", ABILITIES)


@dataclass(frozen=True)
class Does:
    """A step of which only the name is known."""

    op: Op

    def make(self, view, match):
        raise AssertionError


def library(rule, text="one\n  two\n"):
    """One book with one rule."""
    group = Group("all", 1, PROCEDURE, (rule,))
    book = Book(dialect="any", path=PATH, files=(PATH,), digest="", groups=(group,))
    texts = {PATH: RuleFile(SourceFile(PATH, text), "")}
    found = FoundRuleFile(PATH, PATH, "any", RuleFileReason.GIVEN, PATH, "")
    loaded = LoadedBook(book, None, (found,), texts, (group,), {})
    return Library(SearchResult(".", (found,)), (loaded,), (), ())


def a_rule(kind, *, verdict=None, ops=(), **more):
    judgement = verdict and RuleVerdict(verdict, FixedReason("no"))
    return Rule(
        uid="any:rules.txt#r",
        id="r",
        origin=Origin(PATH, 2, 3, ""),
        on=Trigger(kinds=(kind,)),
        judgement=judgement,
        plan=PlanForm(steps=tuple(map(Does, ops))),
        **more,
    )


def found(rule, host, disabled=()):
    return [(one.code, one.headline, one.help) for one in check_host(library(rule), host, disabled)]


@clients
def test_question_is_a_refusal_where_nobody_is_asked(host):
    told = found(a_rule(Kind.TOOL_BEFORE, verdict=Verdict.ASK), host)

    if host in ("claude", "qwen", "copilot"):
        assert told == []
    else:
        headline = f"`r` asks a person, which {TITLES[host]} cannot do"
        assert told == [("host-verdict", headline, "the call is denied, with the reason")]


@clients
def test_calls_can_be_refused_everywhere(host):
    assert found(a_rule(Kind.TOOL_BEFORE, verdict=Verdict.DENY), host) == []
    assert found(a_rule(Kind.PROMPT, verdict=Verdict.HALT), host) == []


@clients
def test_a_text_that_comes_with_a_refused_stop_does_not_wait(host):
    told = found(a_rule(Kind.AGENT_STOP, verdict=Verdict.DENY, ops=[Op.MESSAGE_INSERT]), host)

    codes = {code for code, _, _ in told}
    assert codes == ({"host-verdict", "host-text"} if host == "opencode" else set())


@clients
@pytest.mark.parametrize("op", Op)
def test_every_effect_is_carried_out_or_told(host, op):
    told = found(a_rule(Kind.TOOL_AFTER, ops=[op]), host)

    needs_nobody = {Op.STATE_SET, Op.RULES_ENABLE, Op.RESPONSE_USE, Op.NOTIFY, Op.EVENT_EMIT}
    is_told = any(code == "host-effect" for code, _, _ in told)
    assert is_told == (op not in CARRIES_OUT[host] and op not in needs_nobody)


def test_effects_of_file_events_are_left_to_the_watcher():
    rule = a_rule(Kind.FILE, ops=[Op.COMMAND_RUN])

    assert [code for code, _, _ in found(rule, "claude")] == ["host-effect"]
    assert found(rule, "bus") == []


def test_effects_of_events_that_never_come_are_no_matter():
    told = found(a_rule(Kind.BUS, ops=[Op.BUS_WRITE]), "claude")

    assert [code for code, _, _ in told] == ["host-event"]


def test_the_line_of_the_rule_is_underlined():
    (finding,) = check_host(library(a_rule(Kind.BUS)), "claude")

    assert finding.underlined == "two"
    assert finding.severity == "warning"


def test_rules_that_are_off_are_passed_over():
    assert found(a_rule(Kind.BUS, enabled=False), "claude") == []
    assert found(a_rule(Kind.BUS), "claude", {"any:rules.txt#r"}) == []
    assert found(a_rule(Kind.BUS, core=True), "claude", {"any:rules.txt#r"}) != []


@pytest.mark.parametrize("host", TITLES)
def test_every_host_stands_in_every_table(host):
    assert host in CARRIES_OUT
    assert host in SENDS


def test_moments_mean_the_events_that_are_submitted():
    for moment, kinds in KINDS_AT.items():
        status = CallStatus.OK if moment is HookPoint.AFTER_TOOL else None
        heard = HookEvent(name="x", moment=moment, text="hm", call=Call(tool="t", status=status))
        assert tuple(event.kind for event in events_of(heard)) == kinds


@clients
def test_what_is_heard_is_what_is_installed_for(host):
    installed = {*load_adapter(host).moments.values()}
    if host == "opencode":
        installed.add(HookPoint.SUBAGENT_STOP)  # the same event, told apart by its session

    assert ABILITIES[host].hook_events == installed
