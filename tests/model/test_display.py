"""Unseen characters are written out, unambiguously, and widths are those of a terminal."""

import json
import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bylaw.model.display import clip_text, columns, visible, visible_in_json, width

any_text = st.text(st.characters(exclude_categories=[]))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 世 😀", "plain é 世 😀"),
        ("\x00\x07\x1b[31m", r"\u{0}\u{7}\u{1b}[31m"),
        ("a\r\nb\tc", r"a\u{d}\u{a}b\u{9}c"),
        ("\x7f\x80\x9b", r"\u{7f}\u{80}\u{9b}"),
        ("user\u202etxt.exe", r"user\u{202e}txt.exe"),
        ("\u2066x\u2069\u200e\u061c", r"\u{2066}x\u{2069}\u{200e}\u{61c}"),
        ("a\u200bb\u2060c\u00ad", r"a\u{200b}b\u{2060}c\u{ad}"),
        ("\u2028\u2029", r"\u{2028}\u{2029}"),
        ("x\ufeff", r"x\u{feff}"),
        ("\ud800\udcff", r"\u{d800}\u{dcff}"),
        ("\U000e0041\U000e0001", r"\u{e0041}\u{e0001}"),
        (r"\n \d C:\users", r"\n \d C:\users"),
        (r"\u{202e}", r"\u{5c}u{202e}"),
    ],
)
def test_unseen_characters_are_written_out(text, shown):
    assert visible(text) == shown


@given(any_text | st.text(alphabet="\\u{}5c\u202e"))
@example("\\\\u{\n")
@settings(deadline=None)
def test_two_texts_never_look_the_same(text):
    back = re.sub(r"\\u\{([0-9a-f]+)\}", lambda found: chr(int(found[1], 16)), visible(text))

    assert back == text


@given(any_text)
@settings(deadline=None)
def test_nothing_unseen_is_left(text):
    unseen = {"Cc", "Cs", "Zl", "Zp"}

    assert not [char for char in visible(text) if unicodedata.category(char) in unseen]
    assert not set("\u202a\u202e\u2066\u200b\u200d\ufeff") & set(visible(text))


@given(any_text)
@settings(deadline=None)
def test_json_keeps_its_value_and_shows_everything(text):
    encoded = visible_in_json(json.dumps(text, ensure_ascii=False))

    # Two halves of a pair side by side are one character for every reader of JSON.
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert json.loads(encoded) == joined
    assert encoded.encode("utf-8")
    assert "\u202e" not in encoded


def test_widths_are_those_of_a_terminal():
    assert [width(text) for text in ("", "ab", "世界", "e\u0301", "ﾊﾟ", "Ａ")] == [0, 2, 4, 1, 2, 2]


def test_columns_of_tabs_wide_and_written_out_characters():
    shown, starts = columns("a\tb世\u202ec")

    assert shown == r"a   b世\u{202e}c"
    assert starts == [0, 1, 4, 5, 7, 15, 16]


def test_a_backslash_is_written_out_only_before_what_looks_like_the_notation():
    assert columns(r"\u{1}\u1")[0] == visible(r"\u{1}\u1") == r"\u{5c}u{1}\u1"


def test_clipped_says_that_something_is_left_out():
    assert clip_text("abcdef", 6) == "abcdef"
    assert clip_text("abcdefg", 6) == "abcde…"
