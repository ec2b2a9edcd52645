"""The canonical form of context documents: it means the same, loses nothing, and is a fixed point."""

import re

import pytest
from hypothesis import given, settings
from wild_contracts import COMMENTS, contracts

from bylaw.languages.context.blocks import MARKER
from bylaw.languages.context.reader import read_document
from bylaw.model.source import SourceFile
from bylaw.report.context_format import format_source
from contract_texts import DOC, REVIEW

WILD = settings(max_examples=100, deadline=None)


def read(text):
    return read_document([SourceFile("doc.md", text)])


def form(text):
    return format_source(SourceFile("doc.md", text))


def meaning(document):
    """Everything that a document says, without places; types as they are, not as written."""

    def table(symbols, what):
        return {name: what(one.what) for name, one in symbols.by_qualified.items()}

    return {
        "modules": [
            (
                one.name.text,
                one.description,
                [(enum.name.text, enum.description) for enum in one.enums],
                [
                    (command.name.text, _texts(command.reads), _texts(command.writes))
                    for command in one.commands
                ],
            )
            for one in document.modules
        ],
        "enums": table(document.enums, lambda one: one.values),
        "states": table(document.states, lambda one: (one.type, repr(one.default))),
        "commands": table(
            document.commands,
            lambda one: (
                *(one.kind, one.parameters, one.responses, one.workflows, one.protocols),
                *(repr(one.settings), one.response, one.description),
            ),
        ),
        "responses": table(document.responses, lambda one: (one.constraints, one.description)),
        "workflows": table(document.workflows, lambda one: (one.steps, one.description)),
        "protocols": table(
            document.protocols,
            lambda one: ([(r.id, r.checks, r.preset) for r in one.rules], one.description),
        ),
    }


def _texts(names):
    return None if names is None else [name.text for name in names]


def outside(text):
    """Prose, and what text blocks hold."""
    pieces = re.split(MARKER.pattern, text, flags=re.MULTILINE)
    depth, kept = 0, []
    # A split gives the text before a marker, then the groups of its pattern.
    for before, _, end, type_ in zip(*(pieces[at::4] for at in range(4)), strict=False):
        kept += [before] if depth in (0, "prose") or type_ == "GUIDELINES" else []
        depth = 0 if end and type_ == "MODULE" else "prose" if end else type_
    return [*kept, pieces[-1]]


@WILD
@given(contracts())
def test_a_second_time_changes_nothing(text):
    once = form(text)
    assert form(once) == once


@WILD
@given(contracts())
def test_the_document_means_the_same(text):
    assert meaning(read(form(text))) == meaning(read(text))


@WILD
@given(contracts())
def test_prose_text_blocks_and_comments_are_kept(text):
    new = form(text)
    assert outside(new) == outside(text)
    for comment in COMMENTS:
        assert new.count(comment) >= text.count(comment)


def body(*lines, type_="STATE"):
    """A module with one block, as text."""
    inside = "\n".join((f"[[{type_}]]", *lines, f"[[/{type_}]]"))
    return f"[[MODULE]]\nname: m\ndescription: d\n{inside}\n[[/MODULE]]\n"


@pytest.mark.parametrize("text", [DOC, REVIEW])
def test_the_form_is_readable(text):
    new = form(text)
    assert '"d"' not in new
    assert "{" not in new
    assert max(map(len, new.splitlines())) <= 80


def test_keys_stand_in_the_order_of_the_schema():
    text = body("default: [1]", "type: 'List<Int>'", '"name": s')
    assert form(text) == body("name: s", "type: List<Int>", "default: [1]")


def test_what_a_map_holds_stays_in_the_order_of_its_author():
    text = body("default: {type: 1, name: 2, '1': 3}", "type: Map<String,Int>", "name: s")
    assert form(text) == body(
        "name: s", "type: Map<String, Int>", "default:", "  type: 1", "  name: 2", '  "1": 3'
    )


@pytest.mark.parametrize(
    ("type_", "canonical"),
    [
        ("List< Int >", "List<Int>"),
        ("Map<String,Int>", "Map<String, Int>"),
        ("Map < String , List<Set< Bool>> >", "Map<String, List<Set<Bool>>>"),
    ],
)
def test_types_are_canonical(type_, canonical):
    assert form(body("name: s", f"type: {type_}")) == body("name: s", f"type: {canonical}")


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ('"plain words"', "plain words"),
        ("'on'", "on"),  # YAML 1.2 has no such boolean
        ("'true'", '"true"'),
        ("'12'", '"12"'),
        ("'a, b [c]'", "a, b [c]"),
        ("'a: b'", '"a: b"'),
        ("'a #b'", '"a #b"'),
        ("'#a'", '"#a"'),
        ("'it''s'", "it's"),
        ('" x"', '" x"'),
        ('""', '""'),
        ('"\\u202e"', '"\\u202e"'),
        ('"a\\tb"', '"a\\tb"'),
        ('"back\\\\slash"', "back\\slash"),
        ('"a\\u000ab"', "|-\n  a\n  b"),
        ('"a\\nb\\n"', "|\n  a\n  b"),
        ('"a\\n[[ENUM]]"', '"a\\n[[ENUM]]"'),  # it would be a marker
        ('"a \\nb"', '"a \\nb"'),
        (">-\n    folded\n    text", "folded text"),
    ],
)
def test_texts_have_quotes_only_where_they_need_them(written, canonical):
    text = body("name: s", "type: String", f"default: {written}")
    assert form(text) == body("name: s", "type: String", f"default: {canonical}")


def test_items_in_brackets_need_more_quotes():
    text = body("name: E", "values: ['a, b', 'c d', \"e\"]", type_="ENUM")
    assert form(text) == body("name: E", 'values: ["a, b", c d, e]', type_="ENUM")


def test_a_list_that_is_too_wide_stands_below():
    values = [f"value_{number}" for number in range(10)]
    text = body("name: E", f"values: [{', '.join(values)}]", type_="ENUM")
    assert form(text) == body("name: E", "values:", *(f"  - {one}" for one in values), type_="ENUM")


def test_what_is_empty_has_no_place_below():
    text = body("type: Map<String,List<Int>>", f"default: {{{'k' * 90}: [], b: []}}", "name: s")
    assert form(text) == body(
        "name: s", "type: Map<String, List<Int>>", "default:", f"  {'k' * 90}: []", "  b: []"
    )


def test_numbers_and_flags_have_one_form():
    assert form(body("name: s", "type: Int", "default: 0x10")) == body(
        "name: s", "type: Int", "default: 16"
    )
    assert form(body("name: s", "type: Bool", "default: TRUE")) == body(
        "name: s", "type: Bool", "default: true"
    )


def test_comments_stay_with_what_they_are_about():
    text = body(
        "# about the type",
        "type: Map<String, Int>   # not a list",
        "default: {a: 1, # one",
        "  b: 2} # two",
        "name: s # the name",
        "# the end",
    )
    assert form(text) == body(
        "name: s  # the name",
        "# about the type",
        "type: Map<String, Int>  # not a list",
        "default:",
        "  a: 1  # one",
        "  b: 2  # two",
        "# the end",
    )


def test_comments_in_lists():
    text = body(
        "values: # all of them",
        "- a # first",
        "# before b",
        "- b",
        "name: E",
        type_="ENUM",
    )
    assert form(text) == body(
        "name: E", "values:  # all of them", "  - a  # first", "  # before b", "  - b", type_="ENUM"
    )


def test_comments_in_lists_in_lists():
    text = body(
        "name: s",
        "type: List<List<Map<String, Int>>>",
        "default:",
        "-",
        "  - {a: 1} # one",
        "-  # two",
        "# three",
        "  - b: 2",
        "- [{c: 3}] # four",
    )
    once = body(
        "name: s",
        "type: List<List<Map<String, Int>>>",
        "default:",
        "  -",
        "    - a: 1  # one",
        "  # two",
        "  # three",
        "  -",
        "    - b: 2",
        "  # four",
        "  -",
        "    - c: 3",
    )
    assert form(text) == once
    assert form(once) == once


def test_markers_move_to_the_beginning_of_their_line():
    text = " [[MODULE]]\t\nname: m\ndescription: d\n\n\n  [[GUIDELINES]]\n   as it is\n [[/GUIDELINES]] \n\t[[/MODULE]]"
    assert form(text) == (
        "[[MODULE]]\nname: m\ndescription: d\n\n[[GUIDELINES]]\n   as it is\n[[/GUIDELINES]]\n[[/MODULE]]"
    )


def test_line_breaks_and_a_byte_order_mark_stay():
    text = "\ufeff[[MODULE]]  \r\ndescription: |\r\n  two\r\n  lines\r\nname: m\r\n[[/MODULE]]\r\nprose\n"
    assert form(text) == (
        "\ufeff[[MODULE]]\r\nname: m\r\ndescription: |\r\n  two\r\n  lines\r\n[[/MODULE]]\r\nprose\n"
    )


def test_the_body_of_language_spec_stays():
    spec = (
        "[[LANGUAGE_SPEC]]\nversion:   0.4.20\nx:   {b: 1,   a: 2} # as it is\n[[/LANGUAGE_SPEC]]\n"
    )
    assert form(spec + DOC).startswith(spec)


def test_a_key_that_yaml_cannot_hold_on_a_line_leaves_its_body_as_it_is():
    text = body("type: Map<String, Int>", "name: s", "default:", f"  ? {'k' * 2000}", "  : 1")
    assert form(text) == text
