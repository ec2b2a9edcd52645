"""A guard counts calls exactly as the session does (CM-A17, CM-047)."""

from types import SimpleNamespace

import pytest
from asking import whole
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.expr.expression import load_guard
from bylaw.expr.guard_environment import guard_environment
from bylaw.expr.views import ExpressionGuard, guard_reader
from bylaw.model.decision import Decision
from bylaw.model.event import Message, ToolAfter, ToolBefore, TurnEnd, TurnStart
from bylaw.model.fold import fold
from bylaw.model.session import Session
from bylaw.model.vocabulary import CallStatus, Role, Verdict

TOOLS = ["Read", "Bash", "shell"]
UNKNOWN = "never heard of"
READER = guard_reader("chatmd:a", "chatmd:a#")
calls = {
    "tool": st.sampled_from(TOOLS),
    "also": st.sampled_from([(), ("shell",)]),
    "call": st.sampled_from(["", "c1", "c2"]),
}
events = st.one_of(
    st.builds(ToolBefore, **calls),
    st.builds(ToolAfter, **calls, status=st.sampled_from(CallStatus)),
    st.just(TurnStart()),
    st.just(TurnEnd()),
)
decisions = st.sampled_from([Decision(), Decision(verdict=Verdict.DENY)])


def after(run):
    session = Session()
    for event, decision in run:
        session = fold(session, event, decision)
    return session


def holds(text, session):
    """Whether a guard holds when a message comes in this session."""
    guard = ExpressionGuard(load_guard(*whole(text), guard_environment()), READER)
    event = Message(role=Role.USER, text="hello")
    view = SimpleNamespace(session=session, event=event, slate=session.slate, now=0)
    return guard.test(view) is not None


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(events, decisions), max_size=20), st.integers(0, 4))
def test_a_guard_and_the_session_count_the_same_calls(run, turns):
    session = after(run)
    for tool in (*TOOLS, UNKNOWN):
        count = session.count_calls(tool)

        assert holds(f"ever_called('{tool}')", session) is session.ever_called(tool)
        assert holds(f"count_calls('{tool}') == {count}", session)
        assert not holds(f"count_calls('{tool}') != {count}", session)
        since = holds(f"called_since('{tool}', {turns})", session)
        assert since is session.called_since(tool, turns)


def test_such_runs_differ_in_what_was_called_and_when():
    """The property above would say little if nothing were ever called, or always just now."""
    seen = set()

    @settings(deadline=None, max_examples=200, database=None, derandomize=True)
    @given(st.lists(st.tuples(events, decisions), max_size=20))
    def look(run):
        session = after(run)
        seen.add((session.ever_called("Bash"), *(session.called_since("Bash", n) for n in (0, 2))))

    look()

    assert seen == {
        (False, False, False), (True, False, False), (True, False, True), (True, True, True),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "counts"),
    [("ok", True), ("error", True), ("timeout", True), ("denied", False), ("cancelled", False)],
)
def test_a_call_that_never_happened_is_no_call(status, counts):
    session = after([(ToolAfter(tool="Read", status=CallStatus(status)), Decision())])

    assert holds("ever_called('Read')", session) is counts
    assert holds("called_since('Read', 0)", session) is counts
