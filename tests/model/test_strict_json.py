"""JSON that every reader takes the same way, and the exact place where a text is not that."""

import json
import time
from math import isfinite

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.model.source import Span
from bylaw.model.values import (
    MAX_DEPTH,
    MAX_DIGITS,
    JsonError,
    JsonErrorKind,
    check_json_keys,
    decode_utf8,
    find_json_error,
    find_json_span,
    read_json,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)  # fmt: skip
PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"a"', '"b"', '"', "1", "-", "0.5", "1e999", "e", "NaN",
     "-Infinity", "true", "nul", " ", "\n", "\\", '"\\ud800"', '"\\ud83d\\ude00"', '"\\\\ud800"',
     "\ud800", '"\x00"', '"\\x"', "\ufeff", "٣"]
)  # fmt: skip


def refused(text):
    """The kind, the message and the underlined text."""
    with pytest.raises(JsonError) as caught:
        read_json(text)
    span = caught.value.span
    return caught.value.flaw, caught.value.message, text[span.start : span.end]


@pytest.mark.parametrize(
    ("text", "message", "underlined"),
    [
        ("", "it ends too early", ""),
        ('{"a": ', "it ends too early", " "),
        ('{"a": 1', "it ends too early", "1"),
        ("nope", "a value is needed here", "nope"),
        ("[1, ]", "a value is needed here", "]"),
        ('{"a": 1, }', "a key in double quotes is needed here", "}"),
        ("{a: 1}", "a key in double quotes is needed here", "a"),
        ('{"a" 1}', "a `:` is needed here", "1"),
        ('{"a": 1 "b": 2}', "a `,` or `}` is needed here", '"'),
        ("[1 2]", "a `,` or `]` is needed here", "2"),
        ("[01]", "a `,` or `]` is needed here", "1"),
        ("{} {}", "nothing may follow the value", "{"),
        ('{"a": "b', "missing closing quote", '"'),
        ('["\\x"]', "invalid escape", "\\x"),
        ('["\\u12g4"]', "invalid escape", "\\u"),
        ('["a\tb"]', "this character must be escaped", "\t"),
        ('{"a": NaN}', "`NaN` is not a JSON value", "NaN"),
        ('{"a": -Infinity}', "`-Infinity` is not a JSON value", "-Infinity"),
        ("[1e999]", "this number is too large", "1e999"),
        ('["\\ud800"]', "lone surrogate (half of a character)", "\\ud800"),
        ('["\\\\\\udc00\\ud800"]', "lone surrogate (half of a character)", "\\udc00"),
        ('["a\udcff"]', "lone surrogate (half of a character)", "\udcff"),
        ("\ufeff1", "a value is needed here", "\ufeff"),
    ],
)
def test_what_is_not_json_is_underlined(text, message, underlined):
    assert refused(text) == (JsonErrorKind.SYNTAX, message, underlined)


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_number_has_a_bounded_size(sign):
    longest = sign + "9" * MAX_DIGITS

    assert read_json(longest) == int(longest)
    assert refused(f"[{longest}9]")[1:] == ("this number is too large", longest + "9")


def test_the_second_of_two_keys_is_underlined():
    text = '{"a": {"k": 1}, "k": [{"\\u0061": 1, "b": 2, "a": 3}]}'
    with pytest.raises(JsonError) as caught:
        read_json(text)

    assert (caught.value.flaw, caught.value.message) == (
        JsonErrorKind.DUPLICATE_KEY,
        "duplicate key `a`",
    )
    assert caught.value.span == Span(text.rindex('"a"'), text.rindex('"a"') + 3)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nesting_is_bounded_and_the_bracket_underlined(opening, closing):
    deepest = opening * MAX_DEPTH + "1" * (closing == "}") + closing * MAX_DEPTH
    text = opening * (MAX_DEPTH + 1)

    assert read_json(deepest) is not None
    assert refused(text) == (
        JsonErrorKind.TOO_DEEP,
        "lists and objects are nested more than 100 deep",
        opening[0],
    )
    assert find_json_error(text).span.start == MAX_DEPTH * len(opening)


def test_the_sentence_names_what_was_read():
    assert (
        find_json_error("[").sentence_about("the facts are")
        == "the facts are not JSON: it ends too early"
    )
    assert find_json_error('{"a":1,"a":1}').sentence_about("the facts are") == "duplicate key `a`"


def test_bytes_that_are_no_text_have_a_place():
    assert decode_utf8("ä".encode()) == "ä"
    with pytest.raises(JsonError, match="the byte 0xff is not UTF-8") as caught:
        decode_utf8(b'"\xc3\xa4\xff"')
    assert caught.value.span == Span(2, 3)


@pytest.mark.parametrize(
    ("path", "start", "written"),
    [
        (("vars",), 1, '"vars"'),
        (("vars", "turn"), 9, '"turn"'),
        (("turn",), 19, '"turn"'),
        (("list", 1), 39, "{"),
        (("list", 1, "ä"), 40, '"\\u00e4"'),
        (("list", 0), 36, "7"),
        (("list", 2), None, ""),
        (("gone",), None, ""),
        ((), None, ""),
    ],
)
def test_the_place_of_a_path_is_where_its_key_is_written(path, start, written):
    text = '{"vars":{"turn":5},"turn":1,"list":[7, {"\\u00e4":1}]}'
    span = find_json_span(text, path)

    assert (span.start if span else None) == start
    assert (text[span.start : span.end] if span else "") == written


@pytest.mark.parametrize(
    "text",
    [
        "[" * 5_000_000,
        '{"a":' * 1_000_000,
        '"' * 5_000_001,
        '"' + "\\" * 5_000_001,
        '"' + "\\ud800" * 800_000 + '"',
        "9" * 5_000_000,
        "1e" + "9" * 5_000_000,
        "-" * 5_000_000,
        " " * 5_000_000,
        "x" * 5_000_000,
        "[" + "0," * 1_000_000 + "]",
        '{"' + "k" * 5_000_000 + '": 1, "' + "k" * 5_000_000 + '": 2}',
    ],
    ids=lambda text: text[:6],
)
def test_large_texts_are_refused_in_time_and_in_few_words(text):
    begin = time.process_time()
    _, message, _ = refused(text)

    # Work that grows with the square would take hours. Time of other processes does not count.
    assert time.process_time() - begin < 60
    assert len(message) < 200


@settings(deadline=None)
@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_what_is_written_is_read_back(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    check_json_keys(text)

    assert read_json(text) == value
    assert find_json_span(text, ("no such key",)) is None or "no such key" in value


def oracle(text):
    """The value that Python reads if it is one that all readers take the same way."""

    def unique(pairs):
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    def number(written):
        assert isfinite(float(written))
        return float(written)

    def none(_):
        raise AssertionError

    value = json.loads(text, object_pairs_hook=unique, parse_float=number, parse_constant=none)
    json.dumps(value, ensure_ascii=False).encode()
    return value


@settings(deadline=None, max_examples=1000)
@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=20))
def test_a_text_is_refused_with_a_place_or_read_as_others_read_it(text):
    try:
        wanted = oracle(text)
    except (ValueError, AssertionError):
        with pytest.raises(JsonError) as caught:
            read_json(text)
        assert caught.value.message != "it cannot be read"
        assert 0 <= caught.value.span.start <= caught.value.span.end <= len(text)
        assert not text or caught.value.span.start < caught.value.span.end
    else:
        assert read_json(text) == wanted
