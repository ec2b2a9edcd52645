"""A file that does not load is replaced by one rule that never opens a gate (invariant 3)."""

from itertools import permutations

import lines
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet, order_rules
from bylaw.languages.base import Language, RuleFile, WhenBroken, add_stand_ins, stand_in
from bylaw.model.codes.files import UNREADABLE_FILE
from bylaw.model.decision import Match
from bylaw.model.diagnostic import error
from bylaw.model.errors import BylawError
from bylaw.model.event import ToolBefore
from bylaw.model.facts import ToolFacts
from bylaw.model.procedure import Book, Flow, Group, SortKey
from bylaw.model.rule import Limits
from bylaw.model.session import FiringCount, Session
from bylaw.model.source import SourceFile, Span
from bylaw.model.vocabulary import Kind, Verdict


def file(text, path="a.lines"):
    return RuleFile(SourceFile(path, text), "digest")


def findings(source, *headlines):
    spans = [Span(place, place) for place, _ in enumerate(headlines)]
    return [
        error(UNREADABLE_FILE, line, source, at) for line, at in zip(headlines, spans, strict=True)
    ]


def replaced(broken, **changes):
    dialect = type("Changed", (), {**vars(lines), **changes})
    return stand_in(dialect, broken, findings(broken.source, "it is wrong"))


def reason_of(rule):
    return rule.judgement.reason.make(None, Match())


def group(text):
    (found,) = lines.load([file(text, "z.lines")]).groups
    return found


def decided(found, *, session=None):
    book = Book(dialect="lines", path="z", files=("z",), digest="", groups=(found,))
    return decide(RuleSet([book]), session or Session(), ToolBefore(tool="shell", seq=1, at=1))


def test_a_module_is_a_language_by_its_names():
    assert isinstance(lines, Language)


def test_the_reason_names_the_file_the_line_and_the_way_out():
    broken = file("good\nbad\n")
    rule = stand_in(lines, broken, findings(broken.source, "first", "second"))

    assert reason_of(rule) == (
        "`a.lines` does not load: line 1: first (and 1 more); fix or remove the file; "
        "`bylaw check a.lines` shows all errors"
    )
    assert (rule.uid, rule.origin.file) == ("lines:builtin#does-not-load:a.lines", "a.lines")


def test_a_long_finding_is_cut_in_the_reason():
    broken = file("")
    rule = stand_in(lines, broken, findings(broken.source, "x" * 1_000_000))

    assert len(reason_of(rule)) < 1_000


def test_a_language_that_can_gate_denies():
    rule = replaced(file("x"))

    assert (rule.judgement.verdict, rule.on.kinds) == (
        Verdict.DENY,
        (Kind.TOOL_BEFORE, Kind.AGENT_STOP),
    )
    decision = decided(add_stand_ins([group("")], "lines", [rule])[0])
    assert decision.verdict is Verdict.DENY


def test_no_switch_takes_a_stand_in_away():
    broken = replaced(file("denny\n"))
    book = Book(
        dialect="lines", path="z", files=("z",), digest="",
        groups=add_stand_ins([group("")], "lines", [broken]),
    )  # fmt: skip
    event = ToolBefore(tool="shell", seq=1, at=1, facts=ToolFacts(disabled=(broken.uid,)))

    assert decide(RuleSet([book]), Session(), event).verdict is Verdict.DENY


def test_another_language_warns_once_a_session_and_its_other_rules_act():
    warns = WhenBroken(group="lines", kinds=(Kind.TOOL_BEFORE,), verdict=Verdict.WARN, once=True)
    rule = replaced(file("x"), when_broken=warns)
    (closed,) = add_stand_ins([group("deny tool shell because no")], "lines", [rule])
    first = decided(closed)
    fired = Session(firings={rule.uid: FiringCount(count=1, turn=1, at=0)})
    later = decided(closed, session=fired)

    assert [reason.verdict for reason in first.reasons] == [Verdict.WARN, Verdict.DENY]
    assert [reason.verdict for reason in later.reasons] == [Verdict.DENY]


@pytest.mark.parametrize("once", [False, True])
def test_a_first_match_group_is_closed_for_good(once):
    warns = replace(lines.when_broken, once=once)
    rule = replaced(file("x", "zz.lines"), when_broken=warns)
    (closed,) = add_stand_ins([group("first\non tool.before run rm -r x")], "lines", [rule])
    for session in (None, Session(firings={rule.uid: FiringCount(count=1, turn=1, at=0)})):
        decision = decided(closed, session=session)

        assert (decision.verdict, decision.plans) == (Verdict.DENY, ())


def test_without_broken_files_a_group_stays_as_it_is():
    found = group("on turn.start say hi")

    assert add_stand_ins([found], "lines", []) == (found,)


def test_a_language_without_the_group_is_found_out():
    with pytest.raises(BylawError, match="no group `lines`"):
        add_stand_ins([], "lines", [replaced(file("x"))])


ORDERS = [keys for size in (1, 2) for keys in permutations(list(SortKey)[1:], size)]


@given(
    order=st.sampled_from(ORDERS),
    ranked=st.booleans(),
    flow=st.sampled_from(Flow),
    priorities=st.lists(st.integers(-(2**40), 2**40), max_size=4),
)
def test_a_stand_in_comes_first_and_moves_no_other_rule(order, ranked, flow, priorities):
    plain = group("\n".join("deny tool shell because no" for _ in priorities) or "")
    rules = tuple(
        replace(rule, priority=priority)
        for rule, priority in zip(plain.rules, priorities, strict=True)
    )
    keys = (SortKey.RANK, *order) if ranked else order
    before = replace(plain, rules=rules, procedure=replace(plain.procedure, order=keys, flow=flow))
    rule = replaced(file("x", "zzz.lines"))
    (closed,) = add_stand_ins([before], "lines", [rule])
    first, *rest = order_rules(closed)

    assert first.uid == rule.uid
    assert rest == list(order_rules(before))
    assert flow is not Flow.FIRST or first.limits == Limits()


def test_groups_of_other_names_are_left_alone():
    other = Group("other", 1, group("").procedure, ())

    assert add_stand_ins([other, group("")], "lines", [replaced(file("x"))])[0] == other
