"""What the operators of conditions say when they fail: the right value of the right part."""

import pytest
from asking import failure, value_of_condition
from hypothesis import given
from hypothesis import strategies as st

from bylaw.expr.condition_operators import equal
from bylaw.expr.limits import Budget


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("'abc'[::0]", "guard-value", "the step of a slice cannot be zero; found the number 0"),
        ("'abc'['a':]", "guard-type", 'the bounds of a slice must be whole numbers; found the text "a"'),
        ("'abc'[0:1.5]", "guard-type", "bounds of a slice must be whole numbers; found the number 1.5"),
        ("1[:]", "guard-type", "only a text or list can be sliced; `1` is the number 1"),
        ("'ab'['a']", "guard-type",
         'an index must be a whole number; `\'ab\'` is the text "ab", `\'a\'` is the text "a"'),
        ("{'a': 1}[[1]]", "guard-type", "a boolean or null; found a list of 1"),
        ("[1] in {2}", "guard-type", "a boolean or null; found a list of 1"),
        ("1 in 'a'", "guard-type",
         'only a text can be in a text; `1` is the number 1, `\'a\'` is the text "a"'),
        ("{1} < 2", "guard-type",
         "`<` needs values of one kind; `{1}` is a set of 1, `2` is the number 2"),
        ("{} < {}", "guard-type", "`<` is not defined for maps"),
        ("[1] + (2,)", "guard-type",
         "`+` needs two numbers, texts or lists; `[1]` is a list of 1, `(2,)` is a tuple of 1"),
        ("-'a'", "guard-type", '`-` needs a number; `\'a\'` is the text "a"'),
        ("+None", "guard-type", "`+` needs a number; `None` is null"),
        ("f'{1 / 0}'", "guard-arithmetic", "division by zero; found the number 1, found the number 0"),
        ("f'{-context.user.id}'", "guard-type", "`-` needs a number; found null"),
        ("2 ** 5000", "guard-too-large", "the number has more than 4,096 bits"),
    ],
)  # fmt: skip
def test_a_failure_says_of_no_operand_what_was_found_in_another(text, code, message):
    found_code, found = failure(value_of_condition, text)

    assert found_code == code
    assert found.startswith(f"in `{text}`: ")
    assert message in found


@pytest.mark.parametrize(
    ("text", "part", "message"),
    [
        ("{(1, [2]): 3}", "(1, [2])", "or null; `(1, [2])` is a tuple of 2"),
        ("{1, [2]}", "[2]", "or null; `[2]` is a list of 1"),
        (
            "[a for a, b in [1]]",
            "[1]",
            "only a list of 2 can be unpacked here; found the number 1",
        ),
        ("[a for a, b in [(1,)]]", "[(1,)]", "expected 2 elements to unpack; found a tuple of 1"),
        ("[x for x in 5]", "5", "have elements; `5` is the number 5"),
        ("1 + [2, 3][7]", "[2, 3][7]", "`[2, 3]` is a list of 2, `7` is the number 7"),
    ],
)
def test_the_smallest_part_that_failed_is_named(text, part, message):
    _, found = failure(value_of_condition, text)

    assert found.startswith(f"in `{part}`: ")
    assert found.endswith(message)


plain = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", 0.0, 1.0])
values = st.recursive(plain, lambda part: st.lists(part) | st.dictionaries(st.text(), part))


@given(values, values)
def test_equality_is_that_of_python(left, right):
    assert equal(left, right, Budget(0), 0) == (left == right)
    assert equal(left, left, Budget(0), 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'a' in ['a'] == ['a']", True),
        ("'a' in ['a'] != ['b'] == None", False),
        ("1 in () == ()", False),
        ("2 not in () == ()", True),
        ("'b' in ('a', 'b') in [('a', 'b')]", True),
    ],
)
def test_a_list_of_constants_may_stand_within_a_chain(text, value):
    assert value_of_condition(text) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("('a' * 99999)[:3]", "aaa"),
        ("('ab' * 49999)[-3:]", "bab"),
        ("('a' * 99999 + 'b')[::-1][:2]", "ba"),
        ("len(('a,' * 9999).split(','))", 10_000),
        ("len(('a,' * 49999).split(',', 3))", 4),
        ("'a b c'.split(None, -7)", ["a", "b", "c"]),
        ("'a b c'.split(None, 10 ** 30)", ["a", "b", "c"]),
    ],
)
def test_only_what_is_made_is_paid_for(text, value):
    assert value_of_condition(text) == value
