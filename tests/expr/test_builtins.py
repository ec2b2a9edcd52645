"""What functions and methods of conditions say when they fail: the right value of the right part."""

import pytest
from asking import failure, value_of_condition

NUMBER_1 = "found the number 1"
TEXT_A = 'found the text "a"'


@pytest.mark.parametrize(
    ("text", "code", "problem", "found"),
    [
        ("'a'.count(1)", "guard-type", "a text is needed", NUMBER_1),
        ("'a'.index(1)", "guard-type", "a text is needed", NUMBER_1),
        ("'a'.strip(1)", "guard-type", "a text is needed", NUMBER_1),
        ("'a'.startswith(1)", "guard-type", "a text is needed", NUMBER_1),
        ("'a'.endswith(('b', 1))", "guard-type", "a text is needed", NUMBER_1),
        ("'-'.join(['a', 1])", "guard-type", "a text is needed", NUMBER_1),
        ("'a'.replace('b', 1)", "guard-type", "a text is needed", NUMBER_1),
        ("'b'.replace('b', 'c', 'a')", "guard-type", "a whole number is needed", TEXT_A),
        ("'a'.split('')", "guard-value", "a separator cannot be empty", 'found the text ""'),
        ("'b'.split(sep=1)", "guard-type", "a text is needed", NUMBER_1),
        ("'b'.split(maxsplit='a')", "guard-type", "a whole number is needed", TEXT_A),
        ("int('12', 77)", "guard-value", "a base must be 0 or from 2 to 36", "found the number 77"),
        ("int('12', base=77)", "guard-value", "a base must be 0 or from 2 to 36", "found the number 77"),
        ("int('a', 10)", "guard-value", "this is not a whole number", TEXT_A),
        ("int(1, 10)", "guard-type", "a text is needed", NUMBER_1),
        ("round(1.5, 'a')", "guard-type", "a whole number of digits is needed", TEXT_A),
        ("round(1.5, ndigits='a')", "guard-type", "a whole number of digits is needed", TEXT_A),
        ("round(1.5, 401)", "guard-value", "at most 400 digits", "found the number 401"),
        ("sum([1, 'a'])", "guard-type", "a list of numbers is needed", TEXT_A),
        ("sum(['a'])", "guard-type", "a list of numbers is needed", TEXT_A),
        ("sum([1], 'a')", "guard-type", "a number is needed", TEXT_A),
        ("sum([1], start='a')", "guard-type", "a number is needed", TEXT_A),
        ("sum([1], True) + sum([1.5], 10 ** 400)", "guard-arithmetic", "the result is too large",
         "found a large number, found the number 1.5"),
        ("sorted([1], reverse='a')", "guard-type", "true or false is needed", TEXT_A),
        ("min('a', 1)", "guard-type", "`<` needs values of one kind", f"{NUMBER_1}, {TEXT_A}"),
        ("max('a', 1)", "guard-type", "`<` needs values of one kind", f"{TEXT_A}, {NUMBER_1}"),
        ("max([1, 'a'])", "guard-type", "`<` needs values of one kind", f"{NUMBER_1}, {TEXT_A}"),
        ("{'a': 1}.get([1])", "guard-type", "a key must be a text, a number, a boolean or null",
         "found a list of 1"),
        ("{'a': 1}.has({})", "guard-type", "a key must be a text, a number, a boolean or null",
         "found a map of 0"),
    ],
)  # fmt: skip
def test_one_of_several_operands_is_not_mistaken_for_another(text, code, problem, found):
    failed = text.rpartition(" + ")[2]

    assert failure(value_of_condition, text) == (code, f"in `{failed}`: {problem}; {found}")


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("len(1)", "guard-type", "a text, list or map is needed; `1` is the number 1"),
        ("abs('a')", "guard-type", "`'a'` is the text \"a\""),
        ("float('a')", "guard-value", "this is not a number; `'a'` is the text \"a\""),
        ("any(1)", "guard-type", "have elements; `1` is the number 1"),
        ("sorted([1, 'a'])", "guard-type", "of one kind can be sorted; `[1, 'a']` is a list of 2"),
        ("sorted([{}, {}])", "guard-type", "maps have no order; `[{}, {}]` is a list of 2"),
        ("[1].lower()", "guard-type", "this has no method `lower`; `[1]` is a list of 1"),
        ("'a'.index('b')", "guard-missing", "`'a'` is the text \"a\", `'b'` is the text \"b\""),
        ("[1].index(2)", "guard-missing", "`[1]` is a list of 1, `2` is the number 2"),
        ("min([])", "guard-value", "an empty list has no least or greatest element"),
        ("max(1, 2, default=3)", "guard-type", "a default is allowed only for one list of values"),
        ("int('9' * 1400)", "guard-too-large", "the text has more than 1,365 digits"),
    ],
)
def test_operands_are_named_where_all_of_them_were_looked_at(text, code, message):
    found_code, found = failure(value_of_condition, text)

    assert found_code == code
    assert found.startswith(f"in `{text}`: ")
    assert message in found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("round(1.25, ndigits=1)", 1.2),
        ("int('ff', base=16)", 255),
        ("int('0b11', 0)", 3),
        ("sorted([2, 3, 1], reverse=True)", [3, 2, 1]),
        ("sorted([{}])", [{}]),
        ("min([], default=None)", None),
        ("sum([1, 2], start=0.5)", 3.5),
        ("'a b c'.split(maxsplit=1)", ["a", "b c"]),
        ("'a-b-c'.split(sep='-', maxsplit=1)", ["a", "b-c"]),
        ("'aaa'.replace('a', 'b', 2)", "bba"),
        ("{'a': 1}.items()", [["a", 1]]),
    ],
)
def test_keywords_mean_what_python_means(text, value):
    assert value_of_condition(text) == value
