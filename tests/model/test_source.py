"""Positions: characters, bytes and UTF-16 units of the same place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bylaw.model.source import EncodingError, Position, SourceFile, Span

TEXT = "aé😀b\r\nzwei\n\nend"


def at(text, wanted):
    return SourceFile("f", text).position(text.index(wanted))


def test_lines_and_columns_count_characters_from_one():
    assert at(TEXT, "b") == Position(1, 4)
    assert at(TEXT, "zwei") == Position(2, 1)
    assert at(TEXT, "end") == Position(4, 1)


def test_a_line_is_shown_without_its_break():
    source = SourceFile("f", TEXT)

    assert [source.line_text(n) for n in range(1, 5)] == ["aé😀b", "zwei", "", "end"]


def test_a_byte_order_mark_is_no_column_but_stays_in_the_text():
    source = SourceFile.decode("f", "\ufeffab\ncd".encode())

    assert source.text[0] == "\ufeff"
    assert source.position(1) == Position(1, 1)
    assert source.utf16_column(2) == 1
    assert source.line_text(1) == "ab"
    assert source.offset_of_utf16(1, 1) == 2
    assert source.offset_of_bytes(1, 3) == 1


@pytest.mark.parametrize("character", ["a", "é", "😀", "b"])
def test_every_unit_names_the_same_character(character):
    source = SourceFile("f", TEXT)
    offset = TEXT.index(character)
    byte_column = len(TEXT[:offset].encode())

    assert source.offset_of_bytes(1, byte_column) == offset
    assert source.offset_of_utf16(1, source.utf16_column(offset)) == offset


@given(st.text(max_size=40), st.data())
def test_units_convert_there_and_back(text, data):
    source = SourceFile("f", text)
    offset = data.draw(st.integers(0, len(text)))
    line = source.position(offset).line
    inside = source.line_text(line)
    column = source.position(offset).column - 1
    if column > len(inside):
        return  # the carriage return before a line break is no column

    again = source.offset_of_utf16(line, source.utf16_column(offset))

    assert again == offset or text[again:offset] == "\ufeff"


def test_wrong_encoding_names_the_first_bad_byte():
    with pytest.raises(EncodingError) as refused:
        SourceFile.decode("f", b"ok\nab\xe9c")

    assert refused.value.source.position(refused.value.span.start) == Position(2, 3)
    assert refused.value.byte == 0xE9


def test_spans_join_and_shift():
    assert Span(1, 2).to(Span(5, 9)) == Span(1, 9)
    assert Span(1, 2).shift(3) == Span(4, 5)
