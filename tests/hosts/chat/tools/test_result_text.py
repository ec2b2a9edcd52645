"""What the model reads of a result."""

from bylaw.hosts.chat.tools.base import MAX_RESULT_CHARS, result_text


def test_text_stays_as_it_is():
    assert result_text(" a\n\x1bé\n") == " a\n\x1bé\n"


def test_what_no_file_can_hold_is_replaced():
    assert result_text("a\x00b\ud800") == "a\ufffdb\ufffd"


def test_other_values_are_compact_json():
    assert result_text({"a": [1, 2.5, True, None, "é"]}) == '{"a":[1,2.5,true,null,"é"]}'


def test_nothing_is_empty():
    assert result_text(None) == ""


def test_a_text_at_the_limit_is_whole():
    text = "x" * MAX_RESULT_CHARS
    assert result_text(text) == text


def test_of_a_longer_one_the_middle_is_left_out():
    text = "a" * MAX_RESULT_CHARS + "b" * MAX_RESULT_CHARS
    shown = result_text(text)

    assert len(shown) <= MAX_RESULT_CHARS
    head, note, tail = shown.split("\n")
    assert set(head) == {"a"}
    assert set(tail) == {"b"}
    assert note == f"… {len(text) - len(head) - len(tail):,} characters left out …"
