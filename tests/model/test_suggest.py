"""Which name was meant: near ones are found among thousands, in time and in few words."""

import pytest

from bylaw.model.suggest import MAX_LISTED, did_you_mean, nearest_name


@pytest.mark.parametrize(
    ("wrong", "known", "near"),
    [
        ("insret", ["insert", "deny"], "insert"),
        ("Deny", ["insert", "deny"], "deny"),
        ("x", ["insert", "deny"], ""),
        ("x", [], ""),
    ],
)
def test_the_nearest(wrong, known, near):
    assert nearest_name(wrong, known) == near


def test_among_thousands_one_of_about_the_same_length():
    known = [f"{'x' * size}_{number}" for size in (3, 30) for number in range(2_000)]

    assert nearest_name("treshold", [*known, "threshold"]) == "threshold"
    assert nearest_name("X" * 30 + "_7", known) == "x" * 30 + "_7"


def test_of_very_many_names_some_are_listed():
    known = [f"name-{number:04}" for number in range(MAX_LISTED + 10)]
    help_ = did_you_mean("?", known)

    assert help_.endswith(f"`name-{MAX_LISTED - 1:04}` and 10 more")
    assert did_you_mean("?", known[:2]) == "known here: `name-0000`, `name-0001`"
