"""Texts of src and docs use no retired words, but for those that are listed."""

from retired_words import WORDS_EXEMPT, WORDS_LEFT, read_left, words_found, words_in


def test_a_retired_word_is_found():
    assert words_in("Nobody is told; it stands here, too.") == ["nobody", "told", "stands", "too"]
    assert words_in("Bylaw reports the standard error.") == []


def test_the_words_that_are_left_are_listed():
    """A new one fails: write it in plain English. A line that is no longer there fails as well."""
    found = words_found()
    listed = read_left(WORDS_LEFT) + read_left(WORDS_EXEMPT)
    new, stale = found - listed, listed - found

    assert not new, "write it in plain English, see CONTRIBUTING.md:\n" + "\n".join(sorted(new))
    assert not stale, (
        "fixed or changed; run `python tests/house/retired_words.py` and commit the shorter list:\n"
        + "\n".join(sorted(stale))
    )
