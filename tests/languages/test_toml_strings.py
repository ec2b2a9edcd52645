"""Where the characters of a TOML string stand in its file."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bylaw.languages.toml import read_toml
from bylaw.model.source import SourceFile

WRITTEN = [
    ('"plain"', "plain"),
    (r'"a\tb"', "a\tb"),
    (r'"\u00e9\U0001F600\""', 'é😀"'),
    ("'a\\b'", "a\\b"),
    ('"""\nfirst\nsecond"""', "first\nsecond"),
    ('"""\r\nfirst\r\nsecond"""', "first\nsecond"),
    ('"""one \\\n   two"""', "one two"),
    ('"""a""quote""""', 'a""quote"'),
    ("'''\nraw \\n'''", "raw \\n"),
    ('""', ""),
]


@pytest.mark.parametrize(("written", "value"), WRITTEN)
def test_each_character_has_its_place(written, value):
    source = SourceFile("a.toml", f"# é\nkey = {written} # end\n")
    document = read_toml(source)
    places = document.string("key").places

    assert document.values["key"] == value
    assert len(places) == len(value) + 1
    for at, character in enumerate(value):
        piece = source.text[places[at] : places[at + 1]]
        assert piece == character or piece[0] == "\\" or piece.startswith("\r\n") or "\\" in piece


@given(st.text(st.sampled_from(['"', "\\", "\n", "\t", "a", "é", "😀", " "]), max_size=20))
def test_escaped_text(value):
    escaped = "".join(f"\\U{ord(c):08x}" if c in '"\\\n\t' else c for c in value)
    source = SourceFile("a.toml", f'k = "{escaped}"')

    assert tomllib.loads(source.text)["k"] == value
    assert len(read_toml(source).string("k").places) == len(value) + 1


PIECES = ["\\\n  ", "\\\\", "\\n", "\n", "\r\n", "a", " ", "'"]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_lines(body):
    source = SourceFile("a.toml", f'k = """{body}"""')
    try:
        value = tomllib.loads(source.text)["k"]
    except tomllib.TOMLDecodeError:
        return

    assert len(read_toml(source).string("k").places) == len(value) + 1
