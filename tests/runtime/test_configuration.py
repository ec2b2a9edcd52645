"""`bylaw.toml` is a closed vocabulary, and every finding underlines what is meant."""

import pytest

from bylaw.model.errors import LoadError
from bylaw.model.source import SourceFile
from bylaw.runtime.root import IN_PROJECT, Configuration, read_settings


def settings(text, below=()):
    return read_settings(SourceFile("bylaw.toml", text), below)


def refused(text, below=()):
    with pytest.raises(LoadError) as caught:
        settings(text, below)
    return [(found.code, found.underlined) for found in caught.value.diagnostics]


def test_the_defaults():
    empty = settings("")

    assert (empty.discover, empty.books) == (True, ())
    assert (Configuration().discover, Configuration().books) == (True, ())


def test_books_and_discover():
    text = '\ufeffdiscover = false\r\n[[book]]\r\npath = "a.chatmd"\r\n[[book]]\r\npath = "b"\r\ndialect = "toml"\r\n'
    found = settings(text)

    assert not found.discover
    assert [(book.path, book.dialect) for book in found.books] == [("a.chatmd", ""), ("b", "toml")]
    assert found.source.slice(found.books[1].path_span) == '"b"'
    assert found.source.slice(found.books[1].dialect_span) == '"toml"'


def test_below_a_table_of_pyproject():
    text = (
        '[project]\nname = "x"\n[tool.bylaw]\ndiscover = false\n[[tool.bylaw.book]]\npath = "a"\n'
    )
    found = settings(text, IN_PROJECT)

    assert not found.discover
    assert [book.path for book in found.books] == ["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("discovr = true", [("unknown-setting", "discovr")]),
        ("x = 1\n[jurnal]\nkeep_days = 3", [("unknown-setting", "x"), ("unknown-setting", "jurnal")]),
        ("[jurnal.deep]\nx = 1", [("unknown-setting", "jurnal")]),
        ("discover = 1", [("wrong-setting", "1")]),
        ("discover = []  # off", [("wrong-setting", "[]")]),
        ("stop = 3", [("wrong-setting", "3")]),
        ("[[stop]]\nmax_blocks = 3", [("wrong-setting", "[[stop]]")]),
        ('[book]\npath = "a"', [("wrong-setting", "[book]")]),
        ("book = [1]", [("wrong-setting", "[1]")]),
        ("[[book]]\npath = 3", [("wrong-setting", "3")]),
        ('[[book]]\npath = ""', [("unusable-setting", '""')]),
        ('[[book]]\npath = "a"\n[[book]]\npaht = "b"', [("missing-setting", "[[book]]"), ("unknown-setting", "paht")]),
        ('book = [{ paht = "b" }]', [("missing-setting", '{ paht = "b" }'), ("unknown-setting", "paht")]),
        ('a = """\ndiscover = 1\n"""\ndiscover = 2', [("unknown-setting", "a"), ("wrong-setting", "2")]),
        ("discover = yes", [("toml-syntax", "y")]),
        ("discover = true\ndiscover = true", [("toml-syntax", "e")]),
        ("[[book]", [("toml-syntax", "]")]),
        ("a = 1\0", [("toml-syntax", "\0")]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_underlined(text, expected):
    assert refused(text) == expected


def test_a_text_in_place_of_the_table():
    assert refused("[tool]\nbylaw = 3", IN_PROJECT) == [("wrong-setting", "3")]


def test_suggestions():
    with pytest.raises(LoadError) as caught:
        settings("discovr = true\n[[book]]\npath = 'a'\ndialekt = 'x'")

    assert [found.help for found in caught.value.diagnostics] == [
        "did you mean `discover`?", "did you mean `dialect`?",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "{b=" * 50_000,
        "a." * 60_000 + "b = 1",
        ("a." * 1_000 + "b = 1\n") * 120,
        "a = " + "9" * 200_000,
        "[" + "a." * 60_000 + "b]",
        "a=1\n" * 30_000,
        '"""' * 50_000,
        "\ud800 = 1",
    ],
    ids=[
        "lists",
        "tables",
        "dots",
        "many dots",
        "digits",
        "header",
        "duplicates",
        "quotes",
        "surrogate",
    ],
)
def test_hostile_texts_are_refused_in_time(text):
    (found,) = refused(text)[:1]

    assert found[0] in {"toml-syntax", "toml-too-large", "unknown-setting"}


def test_a_limit_on_the_size():
    assert refused("#" * 300_000) == [("toml-too-large", "#")]
