"""TOML with places: the values of the standard reader, and the text behind each of them."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.languages.toml import Array, Table, Value, load_toml
from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile

DOCUMENT = """\
# a comment with [brackets] and "quotes"
title = "a \\"b\\" é😀" # behind
'quoted key' = 'C:\\path'
"esc\\u0041ped" = 0x1F
dotted.deep."er" = 1979-05-27 07:32:00Z
list = [ 1, [ 2, 3 ], # inside
  { a = 1, b.c = "]" }, ]
long = \"\"\"
one # no comment
two \\"\"\" "" \"\"\"
raw = '''
it''s [raw]'''
[table]
key = true
[table.below]
other = -1.5e3
[[many]]
n = 1
[[many]]
n = 2
[many.inside]
x = inf
"""


def load(text):
    return load_toml(SourceFile("rule.toml", text))


def refused(text):
    with pytest.raises(LoadError) as problem:
        load(text)
    (found,) = problem.value.diagnostics
    return found


def values(node):
    match node:
        case Value():
            yield node
        case Array(items=items):
            for item in items:
                yield from values(item)
        case Table(entries=entries):
            for entry in entries.values():
                yield from values(entry.node)


def test_the_values_are_those_of_the_standard_reader():
    assert load(DOCUMENT).to_python() == tomllib.loads(DOCUMENT)


def test_every_value_is_the_text_behind_it():
    for value in values(load(DOCUMENT)):
        written = DOCUMENT[value.span.start : value.span.end]

        assert tomllib.loads(f"v = {written}")["v"] == value.value


def test_keys_and_tables_have_places():
    table = load(DOCUMENT).entries["table"]
    below = table.node.entries["below"]
    many = load(DOCUMENT).get("many")

    assert DOCUMENT[table.key.start : table.key.end] == "table"
    assert DOCUMENT[table.node.span.start : table.node.span.end] == "[table]"
    assert DOCUMENT[below.node.span.start : below.node.span.end] == "[table.below]"
    assert [DOCUMENT[one.span.start : one.span.end] for one in many.items] == ["[[many]]"] * 2
    assert many.items[1].to_python() == {"n": 2, "inside": {"x": float("inf")}}


@pytest.mark.parametrize("prefix", ["\ufeff", "\r\n\r\n", ""])
def test_marks_and_line_ends_move_nothing(prefix):
    text = prefix + DOCUMENT.replace("\n", "\r\n")
    title = load(text).get("title")

    assert text[title.span.start : title.span.end] == '"a \\"b\\" é😀"'


@pytest.mark.parametrize(
    ("text", "underlined"),
    [
        ("[rule\nid = 5\n", "\n"),
        ('a = "x', "x"),
        ("a = 1\na = 2\n", "\n"),
        ("é = 1\n", "é"),
        ("a = \0", "\0"),
    ],
)
def test_what_is_no_toml_is_refused_at_its_place(text, underlined):
    found = refused(text)

    assert found.code == "toml-syntax"
    assert found.underlined == underlined
    assert found.headline.startswith("invalid TOML: ")


@pytest.mark.parametrize(
    ("text", "said", "help_"),
    [
        ("a = 1\na = 2\n", "duplicate key", "delete one of the two keys"),
        ("a = { b = 1, b = 2 }\n", "duplicate key", "delete one of the two keys"),
        ("[a]\n[a]\n", "duplicate section", "merge the two sections"),
        ("a = True\n", "invalid value", "put texts in quotes; write `true` and `false`"),
    ],
)
def test_common_slips_are_told_plainly(text, said, help_):
    found = refused(text)

    assert found.headline == f"invalid TOML: {said}"
    assert found.help.startswith(help_)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a = 1\n" * 60_000, "toml-too-large"),
        (".".join("a" * 200) + " = 1", "toml-too-large"),
        (".".join(["a" * 90] * 200) + " = 1", "toml-too-large"),
        (".".join([r'"\""'] * 50_000) + " = 1", "toml-too-large"),
        ("a = '''\n\"'''\n[" + " . ".join(["'\"'"] * 200) + "]", "toml-too-large"),
        ("a = " + "[" * 150 + "]" * 150, "toml-too-large"),
        ("[" + ".".join("a" * 99) + "]\nb = [{c = [1]}]", "toml-too-large"),
        ("a = " + "[" * 50_000, "toml-syntax"),
        ("a = " + "9" * 10_000, "toml-syntax"),
    ],
)
def test_what_is_too_much_is_refused(text, code):
    assert refused(text).code == code


@pytest.mark.parametrize(
    "text",
    [
        'a = "' + "x." * 200 + '"',
        'a = """' + 'x.y\\".' * 200 + '"""',
        "# " + "a." * 200,
        "a = [" + "1.5, " * 200 + "]",
        "".join(f"k{n}.b.c = 1.5\n" for n in range(99)),
        ".".join("a" * 100) + " = 1",
    ],
)
def test_many_dots_make_no_long_key(text):
    assert load(text).to_python() == tomllib.loads(text)


KEYS = st.sampled_from(["a", "b-1", '"c d"', "'e.f'", '"g\\th"'])
SCALARS = st.sampled_from(
    ["1", "-2.5", "true", '"x"', '"]"', "'}'", '"""a\n"b"""', "'''c#'''", "1979-05-27 07:32:00"]
)
INLINE = st.recursive(
    SCALARS,
    lambda part: (
        st.lists(part, max_size=3).map(lambda items: "[" + ", ".join(items) + " ]")
        | st.dictionaries(KEYS, part, max_size=2).map(
            lambda pairs: "{ " + ", ".join(f"{k} = {v}" for k, v in pairs.items()) + " }"
        )
    ),
    max_leaves=6,
)
LINES = st.tuples(st.lists(KEYS, min_size=1, max_size=3).map(".".join), INLINE).map(" = ".join)
HEADERS = st.lists(KEYS, min_size=1, max_size=2).map(".".join)
DOCUMENTS = st.lists(
    LINES | HEADERS.map(lambda name: f"[{name}]") | HEADERS.map(lambda name: f"[[ {name} ]]  # x"),
    max_size=6,
).map("\n".join)


@settings(deadline=None, max_examples=500)
@given(DOCUMENTS)
def test_any_document_has_its_values_and_their_texts(text):
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assert refused(text).code == "toml-syntax"
        return
    loaded = load(text)

    assert loaded.to_python() == expected
    for value in values(loaded):
        assert tomllib.loads(f"v = {text[value.span.start : value.span.end]}")["v"] == value.value
