"""Texts of src and docs use no retired words, but for those that are listed."""

import pytest
from retired_words import WORDS_EXEMPT, WORDS_LEFT, read_left, words_found, words_in

REWRITE = "run `python tests/house/retired_words.py` and commit the shorter list"


@pytest.fixture(scope="module")
def found():
    return words_found()


def test_a_retired_word_is_found():
    assert words_in("Nobody is told; it stands here, too.") == ["nobody", "told", "stands", "too"]
    assert words_in("Bylaw reports the standard error.") == []


def test_no_text_has_a_new_retired_word(found):
    new = found - read_left(WORDS_LEFT) - read_left(WORDS_EXEMPT)

    assert not new, "write it in plain English, see CONTRIBUTING.md:\n" + "\n".join(sorted(new))


def test_the_list_has_no_stale_line(found):
    stale = read_left(WORDS_LEFT) + read_left(WORDS_EXEMPT) - found

    assert not stale, f"fixed or changed; {REWRITE}:\n" + "\n".join(sorted(stale))
