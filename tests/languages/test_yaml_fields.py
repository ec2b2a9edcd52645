"""Mappings with closed keys: values of the wanted kind, findings at the right place."""

from enum import StrEnum

import pytest

from bylaw.languages.yaml import YamlScalar, load_yaml
from bylaw.languages.yaml_fields import FieldCodes, Fields, YamlFindings
from bylaw.model.codes import Code, Example
from bylaw.model.diagnostic import MAX_ERRORS, Fix, Label, error
from bylaw.model.source import SourceFile, Span


def code(name):
    return Code(name, "", "", "", Example("", ""))


CODES = FieldCodes(code("unknown"), code("missing"), code("wrong"), code("choice"))


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def fields(text):
    source = SourceFile("a.yaml", text)
    return Fields(load_yaml(source), "the thing", YamlFindings(source, CODES))


def told(given):
    return [(one.code, one.underlined) for one in given.findings.told()]


class TestKeys:
    def test_known_ones(self):
        given = fields("a: 1\nb: 2\n").closed(["a"], ["b", "c"])

        assert told(given) == []
        assert [given.has(key) for key in "abc"] == [True, True, False]

    def test_an_unknown_one_with_what_was_meant(self):
        (found,) = fields("colour: 1\n").closed([], ["color", "size"]).findings.told()

        assert (found.code, found.underlined) == ("unknown", "colour")
        assert found.headline == "unknown key `colour` in the thing"
        assert found.help == "did you mean `color`?"

    @pytest.mark.parametrize("key", ["1", "null", "true", "1.5"])
    def test_one_that_is_no_text(self, key):
        assert told(fields(f"{key}: 1\n").closed(["a"])) == [("missing", key), ("unknown", key)]

    def test_a_missing_one_underlines_the_beginning(self):
        given = fields("a: 1\n").closed(["a", "b"])

        assert told(given) == [("missing", "a")]
        assert given.findings.found[0].headline == "the thing has no `b`"

    def test_of_very_many_the_first_are_told(self):
        text = "".join(f"k{number:04}: 1\n" for number in range(3 * MAX_ERRORS))
        found = told(fields(text).closed([]))

        assert len(found) == MAX_ERRORS
        assert found[0] == ("unknown", "k0000")


class TestValues:
    TEXT = (
        "t: x\nn: 3\nf: true\nc: red\nl: [red, blue, red]\ni: [1, 2, 1]\nm: {x: 1}\nmm: [{x: 1}]\n"
    )

    def test_of_the_wanted_kind(self):
        given = fields(self.TEXT)

        assert given.text("t") == "x"
        assert given.integer("n", 1, 3) == 3
        assert given.flag("f") is True
        assert given.choice("c", Colour) is Colour.RED
        assert given.choices("l", Colour) == (Colour.RED, Colour.BLUE)
        assert [one.value for one in given.texts("l")] == ["red", "blue", "red"]
        assert given.integers("i", 1, 2) == (1, 2)
        assert given.mapping("m", "m").integer("x", 1, 1) == 1
        assert [one.what for one in given.mappings("mm", "an item")] == ["an item"]
        assert told(given) == []

    def test_what_is_not_there_is_nothing(self):
        given = fields("{}")

        assert (given.text("a"), given.flag("a"), given.integer("a", 0, 1)) == (None, None, None)
        assert (given.choice("a", Colour), given.choices("a", Colour)) == (None, ())
        assert (given.integers("a", 0, 1), given.mapping("a", "")) == ((), None)
        assert (list(given.texts("a")), list(given.mappings("a", ""))) == ([], [])
        assert told(given) == []

    @pytest.mark.parametrize(
        ("value", "read"),
        [
            ("3", lambda given: given.text("a")),
            ("[x]", lambda given: given.text("a")),
            ("'true'", lambda given: given.flag("a")),
            ("1", lambda given: given.flag("a")),
            ("true", lambda given: given.integer("a", 0, 9)),
            ("1.0", lambda given: given.integer("a", 0, 9)),
            ("10", lambda given: given.integer("a", 0, 9)),
            ("x", lambda given: given.texts("a")),
            ("{x: 1}", lambda given: given.items("a")),
            ("[x]", lambda given: given.mapping("a", "")),
        ],
    )
    def test_of_another_kind_are_refused(self, value, read):
        given = fields(f"a: {value}\n")

        assert not list(read(given) or ())
        assert told(given) == [("wrong", value)]

    @pytest.mark.parametrize(
        ("value", "item", "read"),
        [
            ("[x, 3]", "3", lambda given: given.texts("a")),
            ("[3, x]", "x", lambda given: given.integers("a", 0, 9)),
            ("[3, true]", "true", lambda given: given.integers("a", 0, 9)),
            ("[3, 10]", "10", lambda given: given.integers("a", 0, 9)),
            ("[{x: 1}, x]", "x", lambda given: given.mappings("a", "")),
        ],
    )
    def test_bad_items_are_underlined(self, value, item, read):
        given = fields(f"a: {value}\n")

        assert len(list(read(given))) == 1
        assert told(given) == [("wrong", item)]

    def test_a_value_that_was_left_out_is_underlined_by_its_key(self):
        given = fields("b: 1\na:\n")

        assert given.text("a") is None
        assert told(given) == [("wrong", "a")]

    def test_no_other_choice(self):
        given = fields("c: Red\nl: [blue, green]\n")

        assert (given.choice("c", Colour), given.choices("l", Colour)) == (None, (Colour.BLUE,))
        assert told(given) == [("choice", "Red"), ("choice", "green")]
        assert given.findings.found[0].help == "did you mean `red`? use one of `red`, `blue`"
        assert given.findings.found[1].help == "use one of `red`, `blue`"


class TestPlaces:
    """A piece of a text is underlined where it stands, or else all of the text"""

    @pytest.mark.parametrize(
        ("written", "underlined"),
        [
            ("one two", "two"),
            ("'one two'", "two"),
            ('"one two"', "two"),
            ('"one\\x20two"', '"one\\x20two"'),
            ("'one two''s'", "'one two''s'"),
            ("one\n  two", "one\n  two"),
            ("|\n  one two", "|\n  one two"),
        ],
    )
    def test_a_piece(self, written, underlined):
        given = fields(f"a: {written}\n")
        node = given.node_of("a")
        span = given.findings.place(node, Span(4, 7))

        assert isinstance(node, YamlScalar)
        assert given.findings.source.slice(span) == underlined

    def test_what_was_found_about_a_text(self):
        inner = SourceFile("<text>", "one two")
        found = error(
            *(code("x"), "bad", inner, Span(4, 7)),
            labels=(Label(Span(0, 3), "here"),),
            fix=Fix(Span(4, 7), "2"),
        )
        exact, escaped = fields("a: one two\n"), fields('a: "one\\x20two"\n')
        for given in (exact, escaped):
            given.findings.relocate([found], given.node_of("a"))
        (first,), (second,) = exact.findings.told(), escaped.findings.told()

        assert (first.underlined, exact.findings.source.slice(first.labels[0].span)) == (
            "two",
            "one",
        )
        assert first.fix == Fix(first.span, "2")
        assert (second.underlined, second.fix) == ('"one\\x20two"', None)
        assert exact.findings.errors == 1
