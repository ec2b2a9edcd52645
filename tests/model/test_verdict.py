"""Verdicts."""

from itertools import pairwise

import msgspec
import pytest

from bylaw.model.vocabulary import Verdict, strongest


def test_the_order_of_strength():
    order = [Verdict.ALLOW, Verdict.WARN, Verdict.ASK, Verdict.DENY, Verdict.HALT]

    assert sorted(order, reverse=True) == order[::-1]
    assert all(weak < strong and strong >= weak for weak, strong in pairwise(order))


def test_the_strongest_stands_and_none_is_allow():
    assert strongest([Verdict.WARN, Verdict.DENY, Verdict.ASK]) is Verdict.DENY
    assert strongest([]) is Verdict.ALLOW


def test_a_verdict_is_written_by_name():
    assert msgspec.json.encode(Verdict.HALT) == b'"halt"'
    assert msgspec.json.decode(b'"ask"', type=Verdict) is Verdict.ASK


def test_a_verdict_is_not_compared_with_a_word():
    with pytest.raises(TypeError):
        assert Verdict.ALLOW < "deny"
