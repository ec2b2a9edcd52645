"""What counts as a subset, and the shape that a rewritten expectation keeps."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.model.values import read_json
from bylaw.report.suites.compare import MAX_SHOWN, differences, reshape, write_json

SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, "", "é"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("expected", "real"),
    [
        ({}, {"a": 1}),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}),
        ({"a": [{"b": 1}, {}]}, {"a": [{"b": 1, "c": 2}, {"d": 3}]}),
        ({"a": None}, {"a": None}),
    ],
)
def test_a_subset_holds(expected, real):
    assert list(differences(expected, real)) == []


@pytest.mark.parametrize(
    ("expected", "real", "sentence"),
    [
        ({"a": None}, {}, "`a` is missing, expected null"),
        ({"a": 1}, {"a": True}, "`a` is true, expected 1"),
        ({"a": 1}, {"a": 1.0}, "`a` is 1.0, expected 1"),
        ({"a": {}}, {"a": []}, "`a` is [], expected {}"),
        ({"a": [1]}, {"a": [1, 2]}, "`a` is [1, 2], expected [1]"),
        ({"a": []}, {"a": [1]}, "`a` is [1], expected []"),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "`a[1].b` is 3, expected 2"),
        ({"a": "x"}, {"a": "\u202e"}, '`a` is "\\u202e", expected "x"'),
        (1, 2, "the value is 2, expected 1"),
    ],
)
def test_a_difference_is_named_with_its_path(expected, real, sentence):
    assert list(differences(expected, real)) == [sentence]


def test_a_long_value_is_clipped():
    (sentence,) = differences({"a": 1}, {"a": "x" * 1_000_000})

    assert len(sentence) < MAX_SHOWN + 100


@pytest.mark.parametrize(
    ("expected", "real", "result"),
    [
        ({"a": 1, "gone": 2}, {"a": 3, "new": 4}, {"a": 3}),
        ({"a": {"b": 0}}, {"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}),
        ([{"b": 0}], [{"b": 1, "c": 2}, {"b": 3, "c": 4}], [{"b": 1}, {"b": 3}]),
        ([{"b": 0}, {"c": 0}], [{"b": 1, "c": 2}], [{"b": 1}]),
        ([], [{"b": 1}], [{"b": 1}]),
        ({"a": {}}, {"a": {"b": 1}}, {"a": {}}),
        ("x", {"b": 1}, {"b": 1}),
    ],
)
def test_only_what_was_written_is_rewritten(expected, real, result):
    assert reshape(expected, real) == result


@given(VALUES, VALUES)
@settings(deadline=None)
def test_what_is_rewritten_holds(expected, real):
    assert list(differences(reshape(expected, real), real)) == []


@given(VALUES)
@settings(deadline=None)
def test_every_value_is_a_subset_of_itself_and_keeps_its_shape(value):
    assert list(differences(value, value)) == []
    assert list(differences(value, reshape(value, value))) == []


@given(VALUES | st.text(), st.sampled_from([None, 2]))
@settings(deadline=None)
def test_what_is_written_is_read_back(value, indent):
    text = write_json(value, indent=indent)

    assert read_json(text) == value
    assert indent or "\n" not in text
