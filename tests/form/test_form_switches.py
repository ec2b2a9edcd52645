"""Rules that are off, in their file or by a switch, and core rules, which no switch reaches."""

import pytest
from driving import Driven
from forms import book, group, insert, rule

from bylaw.model.event import TurnStart
from bylaw.model.facts import Facts
from bylaw.model.vocabulary import Kind


def told(*, off=(), fast=True, **fields):
    """What one rule does at the start of a turn, and what the trace says of it."""
    says = rule("a", Kind.TURN_START, when="turn_index == 1", steps=[insert("hi")], **fields)
    session = Driven(book(group("rules", says)), fast=fast)
    happened = session.submit(TurnStart(facts=Facts(disabled=off)))
    return [step.text for _, step in happened.steps], happened.trace


UID = rule("a", Kind.TURN_START).uid


@pytest.mark.parametrize("fast", [True, False])
class TestARuleThatIsOff:
    """TR-024"""

    def test_it_is_on_unless_somebody_says_otherwise(self, fast):
        assert told(fast=fast, off=("toml:other.toml#a", "a")) == (["hi"], [("a", "fired")])

    def test_off_in_its_file(self, fast):
        assert told(fast=fast, enabled=False) == ([], [("a", "not_live")])

    def test_switched_off(self, fast):
        assert told(fast=fast, off=(UID,)) == ([], [("a", "not_live")])

    def test_a_core_rule_is_on_whatever_is_said(self, fast):
        """TR-027, TR-A11"""
        for fields in ({"off": (UID,)}, {"enabled": False}, {"enabled": False, "off": (UID,)}):
            assert told(fast=fast, core=True, **fields) == (["hi"], [("a", "fired")])
