"""Sessions as snapshots, and what holds after any sequence of events."""

from copy import deepcopy

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_model import decisions, events

from bylaw.model.calls import MAX_PENDING, MAX_SENT
from bylaw.model.decision import Decision
from bylaw.model.effects import Log
from bylaw.model.event import ToolAfter, ToolBefore, TurnEnd
from bylaw.model.fold import fold, observe
from bylaw.model.history import WINDOW
from bylaw.model.session import MAX_BLOCKED, Session, encode_session
from bylaw.model.vocabulary import CallStatus

runs = st.lists(st.tuples(events, decisions()), max_size=12)


def after(run):
    session = Session()
    for event, decision in run:
        session = fold(session, event, decision)
    return session


def test_a_snapshot_must_be_whole():
    with pytest.raises(msgspec.MsgspecError):
        msgspec.json.decode(b'{"id": "default", "extra": 1}', type=Session)


def test_a_session_is_frozen():
    with pytest.raises(AttributeError):
        Session().at = 5


@settings(deadline=None, max_examples=60)
@given(runs)
def test_folding_is_deterministic_and_a_snapshot_goes_on_where_it_was(run):
    """CM-A52: a restored session gives the same bytes as one that was never stored."""
    session = restored = Session()
    for event, decision in run:
        session = fold(session, event, decision)
        stored = msgspec.json.decode(encode_session(restored), type=Session)
        restored = fold(stored, event, decision)

        assert restored == session
        assert encode_session(restored) == encode_session(session)


@settings(deadline=None, max_examples=60)
@given(runs, events, decisions())
def test_folding_changes_none_of_its_inputs(run, event, decision):
    session = after(run)
    before = deepcopy((session, event, decision))
    fold(session, event, decision)
    observe(session, event)

    assert (session, event, decision) == before


@settings(deadline=None, max_examples=60)
@given(runs)
def test_counters_agree_and_are_never_negative(run):
    session = after(run)
    calls, history = session.calls, session.history
    tallies = [calls.all, *calls.by_name.values()]

    assert all(0 <= t.in_last_turn <= t.count <= calls.all.count for t in tallies)
    assert all(t.last_turn <= session.turn for t in tallies)
    assert all(0 <= n <= calls.total_failures for n in calls.failures.values())
    assert calls.total_failures <= calls.all.count
    assert min(history.length, history.tokens, session.seq, session.at) >= 0
    assert len(history.messages) <= history.length
    assert len(calls.tools) == min(calls.all.count, WINDOW)
    assert all(firing.count > 0 for firing in session.firings.values())
    assert len({notice.number for notice in session.notices.waiting}) == len(
        session.notices.waiting
    )


# Waiting notices are the one thing that must not be dropped, so a run without them.
quiet = decisions(of_steps=st.builds(Log, text=st.just("x")))


@settings(deadline=None, max_examples=15)
@given(st.lists(events, min_size=1, max_size=3), quiet)
def test_a_long_session_does_not_grow(few, decision):
    """What one fold copies is bounded, whatever the number of events."""
    session = after([(event, decision) for event in few] * 150)

    assert len(session.history.messages) <= WINDOW
    assert len(session.calls.tools) <= WINDOW
    assert len(session.calls.pending) <= MAX_PENDING
    assert len(session.notices.sent) <= MAX_SENT
    assert len(session.blocked.stops) <= MAX_BLOCKED


moves = st.lists(
    st.tuples(
        st.sampled_from(["before", "after", "end of turn"]),
        st.integers(0, 4),
        st.sampled_from(CallStatus),
    ),
    max_size=25,
)


@settings(deadline=None)
@given(moves)
def test_no_call_is_pending_and_counted_or_counted_twice(script):
    """Against a plain list of calls with what became of each."""
    session, became = Session(), {}
    for move, number, status in script:
        name = f"c{number}"
        if move == "before" and name not in became:
            session = fold(session, ToolBefore(tool="Y", call=name), Decision())
            became[name] = "pending"
        elif move == "after" and became.get(name) in {"pending", "counted at the end of its turn"}:
            session = fold(session, ToolAfter(tool="Y", call=name, status=status), Decision())
            if became[name] == "pending":
                gone = status in {CallStatus.DENIED, CallStatus.CANCELLED}
                became[name] = "never happened" if gone else "counted"
            elif status not in {CallStatus.DENIED, CallStatus.CANCELLED}:
                became[name] = "counted"
        elif move == "end of turn":
            session = fold(session, TurnEnd(), Decision())
            late = {name for name, what in became.items() if what == "pending"}
            became |= dict.fromkeys(late, "counted at the end of its turn")
        fates = list(became.values())

        assert session.calls.count_pending("Y") == fates.count("pending")
        assert session.count_calls("Y") == sum(what.startswith("counted") for what in fates)
        assert session.calls.all.count == len(session.calls.tools) == session.count_calls("Y")
