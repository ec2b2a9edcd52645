"""Facts of expressions: what is wrong with them is underlined where it is written."""

import pytest

from bylaw.model.errors import LoadError
from bylaw.model.source import BOM, SourceFile
from bylaw.tools.expression_facts import condition_view, guard_view


def refused(text, view=guard_view):
    """The headline, the underlined text and where it begins."""
    with pytest.raises(LoadError) as caught:
        view(SourceFile("facts", text))
    (found,) = caught.value.diagnostics
    assert found.code == "bad-facts"
    return found.headline, found.underlined, found.span.start


def test_the_key_at_its_depth_is_underlined():
    text = '{"vars":{"turn_index":5},"turn_index":"x"}'

    assert refused(text) == (
        "`turn_index` must be a whole number, not a text",
        '"turn_index"',
        text.rindex('"turn_index"'),
    )


@pytest.mark.parametrize(
    ("text", "headline", "underlined"),
    [
        ("[]", "the facts must be a map, not a list", "["),
        ('{"calls": {"Y": [3, "4"]}}', "`calls.Y[1]` must be a whole number, not a text", '"'),
        ('{"event": {"tool": {"nme": 1}}}', "there is no `nme` in `event.tool`", '"nme"'),
        ('{"now": 1, "tun_index": 1}', "there is no `tun_index` in the facts", '"tun_index"'),
        ('{"now": 99999999999999999999}', "`now` is too large a number", '"now"'),
        (
            '{"last": {"user": "now"}, "vars": {"x": 1, "now": 2}}',
            "`now` is a name of the language and no variable",
            '"now"',
        ),
        ('{"now": 1, "\\u006eow": 2}', "the key `now` is there twice", '"\\u006eow"'),
        ('{"vars": {"x": NaN}}', "the facts are not JSON: `NaN` is no value of JSON", "NaN"),
        ('{"vars": {"x": 1e999}}', "the facts are not JSON: this number is too large", "1e999"),
        ("", "the facts are not JSON: it ends too early", ""),
        ('{"vars": {', "the facts are not JSON: it ends too early", "{"),
        (
            '{"vars": {"x": ' + "[" * 99,
            "lists and objects are nested more than 100 deep",
            "[",
        ),
    ],
)
@pytest.mark.parametrize("mark", ["", BOM])
def test_what_is_wrong_is_underlined(text, headline, underlined, mark):
    assert refused(mark + text)[:2] == (headline, underlined)


def test_the_last_of_equal_keys_in_different_places_is_found():
    text = '{"context": {"state": {"turn": 1}, "turn": {"turn": 2}}}'

    assert refused(text, condition_view) == (
        "there is no `turn` in `context.turn`",
        '"turn"',
        text.rindex('"turn"'),
    )
