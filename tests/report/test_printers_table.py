"""Tables are aligned and fit, whatever stands in their cells."""

from hypothesis import given
from hypothesis import strategies as st

from bylaw.model.display import visible, width
from bylaw.report.printers.layout import GAP, MIN_WIDTH, align, cut, fit

cells = st.text(max_size=60).map(visible)


def test_columns_are_as_wide_as_their_widest_cell():
    assert align([("a", "bb", "c"), ("aaa", "b", "cc")]) == ["a    bb  c", "aaa  b   cc"]


def test_what_fits_stays():
    rows = [("a" * 30, "b"), ("c", "d" * 40)]

    assert fit(rows, 72, ends=(0,), starts=(1,)) == rows


def test_the_widest_column_gives_way_first():
    rows = [("a" * 30, "x", "/" + "b" * 50)]
    (row,) = fit(rows, 40, ends=(0,), starts=(2,))

    assert row == ("a" * 16 + "…", "x", "…" + "b" * 17)


def test_columns_that_must_not_be_cut_are_not():
    rows = [("a" * 100, "b" * 20)]
    (row,) = fit(rows, 40, ends=(1,), starts=())

    assert row == ("a" * 100, "b" * (MIN_WIDTH - 1) + "…")


def test_a_wide_character_is_not_halved():
    assert cut("日本語", 4) == "日…"
    assert cut("日本語", 4, at_start=True) == "…語"
    assert cut("日本語", 6) == "日本語"


@given(cells, st.integers(1, 40), st.booleans())
def test_a_cut_fits(text, limit, at_start):
    assert width(cut(text, limit, at_start=at_start)) <= limit


@given(st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=5), st.integers(40, 100))
def test_a_table_fits_unless_its_columns_are_at_their_least(rows, limit):
    made = fit(rows, limit, ends=(0, 1), starts=(2,))

    assert all(width(line) <= limit for line in align(made))
    assert 3 * MIN_WIDTH + 2 * len(GAP) <= 40
