"""The fast path is a shortcut, never another answer."""

from driving import as_bytes
from hypothesis import given, settings
from msgspec.structs import replace
from random_books import EVERYTHING, GATES, PLAIN, RANDOM, answered, histories, libraries, stamped

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.model.fold import fold
from bylaw.model.session import Session, encode_session

ALL_PLAIN = replace(PLAIN, gates=tuple(GATES[:-1]))


def agree(library, history):
    """Decision by decision, trace by trace, along a whole session."""
    fast, slow = RuleSet(library), RuleSet(library, fast=False)
    session = Session()
    for event in history:
        stamp = stamped(event, session)
        assert decide(fast, session, stamp) == decide(slow, session, stamp)
        quick, definition = (answered(rules, session, stamp) for rules in (fast, slow))
        assert quick[0] == definition[0]
        assert as_bytes(quick[1]) == as_bytes(definition[1])
        after = fold(session, *quick)
        assert encode_session(after) == encode_session(fold(session, *definition))
        session = after


@settings(RANDOM, max_examples=300)
@given(libraries(PLAIN), histories)
def test_on_guards_alone(library, history):
    agree(library, history)


@RANDOM
@given(libraries(EVERYTHING), histories)
def test_on_everything(library, history):
    agree(library, history)


@settings(RANDOM, max_examples=10)
@given(libraries(ALL_PLAIN), histories)
def test_the_fast_path_is_taken(library, history):
    """Otherwise the tests above would compare the slow path with itself."""
    rules = RuleSet(library)

    assert all(rules.bucket(event).holding is not None for event in history)
