"""Whatever the text: the tree gives it back, and a block is one message with exactly its text."""

import re

from chatmd_texts import any_text, messages, only_element, parsed
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bylaw.languages.chatmd.messages import block, pieces, text_of
from bylaw.model.source import Span

MANY = settings(max_examples=500, deadline=None)
NAMES = st.from_regex(r"[A-Za-z0-9_:-]{1,8}", fullmatch=True)
IMPOSSIBLE = re.compile(r"(?s)\A(?=[\"']|.*[ \t\r\n\f\v<>]).*\\\Z")


def written(text):
    """A text as a file can hold it."""
    return re.sub("[\x00\ud800-\udfff]", "\ufffd", text)


@MANY
@given(any_text)
def test_every_text_is_written_back(text):
    document, findings = parsed(text)
    for found in findings:
        assert 0 <= found.span.start <= found.span.end <= len(text)
        assert found.headline
        assert found.help
    assert parsed(text) == (document, findings)


@MANY
@given(messages, any_text)
def test_a_block_reads_back_as_one_message_with_its_text(name, text):
    element, source = only_element(block(name, {}, text))
    assert element.name == name
    assert text_of(element, source) == written(text)
    assert [type(piece) for piece in pieces(element, source)] == ([str] if text else [])


@MANY
@given(st.dictionaries(NAMES, any_text, max_size=4), any_text)
def test_attributes_of_a_block_read_back(attributes, text):
    assume(not any(IMPOSSIBLE.match(value) for value in attributes.values()))
    element, source = only_element(block("tool_response", attributes, text))
    assert {one.name: one.value for one in element.attributes} == {
        name: written(value) for name, value in attributes.items()
    }
    assert text_of(element, source) == written(text)


@MANY
@given(st.lists(st.tuples(messages, any_text), max_size=4))
def test_blocks_in_a_row_stay_apart(blocks):
    text = "".join(block(name, {}, text) for name, text in blocks)
    document, findings = parsed(text)
    assert not findings
    assert [(one.name, text_of(one, document.source)) for one in document.elements] == [
        (name, written(text)) for name, text in blocks
    ]
    assert document.elements == document.children[::2]


@MANY
@given(any_text, any_text)
def test_blocks_behind_a_text_that_loads_change_nothing_of_it(before, text):
    document, findings = parsed(before)
    assume(not any(one.severity == "error" for one in findings))
    longer, more = parsed(f"{before}\n{block('user', {}, text)}")
    assert longer.elements[:-1] == document.elements
    assert text_of(longer.elements[-1], longer.source) == written(text)
    assert [(one.code, one.span) for one in more] == [(one.code, one.span) for one in findings]


@MANY
@given(any_text)
def test_places_of_a_value_lead_to_its_characters(value):
    assume(not IMPOSSIBLE.match(value))
    element, source = only_element(block("user", {"a": value}, "x"))
    (attribute,) = element.attributes
    places = attribute.places(source)
    assert len(places) == len(attribute.value) + 1
    assert list(places) == sorted(places)
    assert places[-1] == attribute.value_span.end
    for place, following, character in zip(places, places[1:], attribute.value, strict=False):
        piece = source.slice(Span(place, following))
        assert piece == character or piece.startswith("&")
