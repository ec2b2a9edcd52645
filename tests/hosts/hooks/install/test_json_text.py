"""JSON with comments: read with places, refused with the place, edited and back."""

import json

import pytest
from config_texts import MARKED, WIDE, texts
from hypothesis import given
from hypothesis import strategies as st

from bylaw.hosts.hooks.install.json_edit import (
    STRICT,
    JsonDialect,
    insert_value,
    read_text,
    remove_value,
)
from bylaw.model.values import JsonError

CONTAINERS = st.dictionaries(st.sampled_from("abc"), st.just(1), max_size=3) | st.lists(
    st.just([]), max_size=3
)


def every(node):
    yield node
    for one in node.children:
        yield from every(one)


@given(texts(form=MARKED))
def test_plain_json_is_what_python_reads(text):
    document = read_text(text, MARKED)

    assert document.plain(document.root) == json.loads(text.removeprefix("\ufeff"))


@given(texts())
def test_every_value_stands_where_it_is_said_to(text):
    document = read_text(text, WIDE)

    for node in every(document.root):
        alone = read_text(text[node.start : node.end], WIDE)
        assert alone.plain(alone.root) == document.plain(node)


@given(texts(), st.data())
def test_what_is_put_in_and_taken_out_leaves_every_byte(text, data):
    document = read_text(text, WIDE)
    places = [one for one in every(document.root) if one.is_object or one.is_list]
    if not places:
        return
    place = data.draw(st.sampled_from(places))
    key = "new" if place.is_object else ""
    value = data.draw(st.sampled_from([1, {}, {"x": [1, {"y": 2}]}, ["a"]]))
    edited = read_text(insert_value(document, place, value, key), WIDE)
    where = next(one for one in every(edited.root) if one.begin == place.begin)

    assert edited.plain(where.children[-1]) == value
    inside = text[place.start + 1 : place.end - 1]
    left = remove_value(edited, where, len(where.children) - 1, inside if inside.isspace() else "")
    assert left == text


@given(texts(CONTAINERS), st.data())
def test_taking_out_leaves_the_others(text, data):
    document = read_text(text, WIDE)
    if not document.root.children:
        return
    index = data.draw(st.integers(0, len(document.root.children) - 1))
    left = read_text(remove_value(document, document.root, index), WIDE)

    gone = document.root.children.pop(index)
    assert left.plain(left.root) == document.plain(document.root)
    assert text[gone.start : gone.end]


@pytest.mark.parametrize(
    ("text", "form", "underlined", "why"),
    [
        ("", STRICT, "", "it ends too early"),
        ("{", STRICT, "{", "it ends too early"),
        ('{"a": 1,}', STRICT, "}", "a key in double quotes"),
        ('{"a": 1,}', JsonDialect(comments=True), "}", "a key in double quotes"),
        ("{} // x", STRICT, "//", "a comment is not allowed here"),
        ("{ /* x", WIDE, "/*", "a comment is never closed"),
        ("{ / }", WIDE, "/", "not a JSON value"),
        ('{"a": 1, "a": 2}', WIDE, '"a"', "duplicate key"),
        ("{} {}", WIDE, "{", "nothing may follow"),
        ("[,]", WIDE, ",", "a value is needed"),
        ("[1,,]", WIDE, ",", "a value is needed"),
        ("[" * 101, WIDE, "[", "deep"),
        ("\ufeff{}", STRICT, "\ufeff", "a byte order mark"),
        ("\ufeff{}", JsonDialect(comments=True), "\ufeff", "a byte order mark"),
        ("{'a': 1}", WIDE, "'", "a key in double quotes"),
    ],
)
def test_what_the_client_could_not_read_is_refused_with_the_place(text, form, underlined, why):
    with pytest.raises(JsonError, match=why) as refused:
        read_text(text, form)

    span = refused.value.span
    assert text[span.start : span.end] == underlined


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":1}', '{"a":1, "n": {"x": 1}}'),
        ("{}", '{\n  "n": {\n    "x": 1\n  }\n}'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"n": {\n\t\t"x": 1\n\t}\n}'),
        ('{\r\n "a": 1\r\n}', '{\r\n "a": 1,\r\n "n": {\r\n  "x": 1\r\n }\r\n}'),
        (
            '{\n  "a": 1 // why\n}',
            '{\n  "a": 1, // why\n  "n": {\n    "x": 1\n  }\n}',
        ),
        ('{\n  "a": 1,\n}', '{\n  "a": 1,\n  "n": {\n    "x": 1\n  },\n}'),
        (
            "{\n  // nothing yet\n}",
            '{\n  // nothing yet\n  "n": {\n    "x": 1\n  }\n}',
        ),
    ],
)
def test_what_is_put_in_looks_like_what_is_around(text, expected):
    document = read_text(text, WIDE)

    assert insert_value(document, document.root, {"x": 1}, "n") == expected
