"""Names of files as facts have them: back to the system, and for people."""

import pytest

from bylaw.model.display import fact_path, file_path, shown_path, visible, visible_once

NAMES = [b"a.py", "é.py".encode(), b"\xff.py", rb"\u{dcff}.py", rb"\u{5c}u{dcff}.py", b"a\nb",
         "\u202e".encode(), b"\xff\n", rb"\u{110000}", rb"\x", rb"\u", rb"\u{}"]  # fmt: skip
NAMES = [name.decode("utf-8", "surrogateescape") for name in NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_every_name_leads_back(name):
    assert file_path(fact_path(name)) == name


def test_no_two_names_look_the_same():
    assert len({fact_path(name) for name in NAMES}) == len(NAMES)
    assert len({shown_path(fact_path(name)) for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_odd_is_written_out_once(name):
    shown = shown_path(fact_path(name))
    assert shown == visible(name)
    assert visible_once(shown) == shown


def test_what_is_no_character_stays_as_it_is():
    assert file_path(r"\u{110000}\u{ffffff}") == r"\u{110000}\u{ffffff}"


def test_a_text_with_names_in_it_is_made_visible_around_them():
    assert visible_once("look at \\u{dcff}.py\x1b[2J") == r"look at \u{dcff}.py\u{1b}[2J"
