"""The findings of the checker: code, underlined text and help of every error and warning."""

import pytest
from asking import condition, guard, refusals, shown

from bylaw.expr.expression import warn_if_not_boolean

SCOPES = '`"context"`, `"last_user"`, `"last_assistant"`'
NO_NULL = "null cannot be written; a missing value equals no literal"
COOL_DOWN = "for a cool-down: `since_ms('rule') >= 5000`"
SPLIT = "split it into several rules"


@pytest.mark.parametrize(
    ("text", "code", "underlined", "help_"),
    [
        ("turn_indx > 1", "unknown-name", "turn_indx", "did you mean `turn_index`?"),
        ("my_vra == 1", "unknown-name", "my_vra", "did you mean `my_var`?"),
        ("event == 1", "unknown-name", "event",
         "read one of `event.name`, `event.tool.name`, `event.tool.args`, `event.tool.status`"),
        ("tokens > 1", "unknown-name", "tokens", "call it: `tokens(…)`"),
        ("True", "unknown-name", "True", "write `true`"),
        ("None == 1", "unknown-name", "None", NO_NULL),
        ("event.tol.name == 'x'", "unknown-attribute", "event.tol.name", "did you mean `event.tool.name`?"),
        ("ever_caled('x')", "unknown-function", "ever_caled", "did you mean `ever_called`?"),
        ("ever_called()", "wrong-arguments", "ever_called()", "write `ever_called(tool)`"),
        ("not now(1) > 2", "wrong-arguments", "now(1)", "write `now()`"),
        ("tokens(last_role) > 1", "literal-needed", "last_role", f"write the text itself: one of {SCOPES}"),
        ("tokens('me') > 1", "unknown-choice", "'me'", f"use one of {SCOPES}"),
        ("jsonpath(last_role)", "literal-needed", "last_role", "write the text itself"),
        ("jsonpath('$..a')", "unsupported-jsonpath", "'$..a'", ""),
        ("since_ms('wran') > 1", "unknown-rule", "'wran'", "did you mean `warn`?"),
        ("now() * 2 > 1", "time-outside-comparison", "now()", COOL_DOWN),
        ("now() - last_role > 1", "time-outside-comparison", "now()", COOL_DOWN),
        ("since_ms('warn')", "time-outside-comparison", "since_ms('warn')", COOL_DOWN),
        ("1 > 0 and not now()", "time-outside-comparison", "now()", COOL_DOWN),
        ("1" + " + 1" * 50, "expression-too-deep", "1", SPLIT),
        ("[" + ",".join("1" * 2000) + "] == 1", "expression-too-long",
         "[" + ",".join("1" * 2000) + "] == 1", SPLIT),
    ],
    ids=lambda value: value[:40],
)  # fmt: skip
def test_why_a_guard_is_refused(text, code, underlined, help_):
    found = refusals(guard, text, variables=["my_var"], rule_ids=["warn"])

    assert found == [(code, underlined, help_)]


@pytest.mark.parametrize("text", ["arg('x') == 1", "jsonpath('$.x') == 1"])
def test_a_guard_reads_no_call_where_there_is_none(text):
    assert refusals(guard, text, has_call=False) == [("no-call-here", text[:-5], "")]


@pytest.mark.parametrize(
    "text", ["now() - 5 > since_ms('warn') + 1.5", "not (now() > 5)", "3 <= now()"]
)
def test_time_may_be_compared(text):
    assert guard(text, rule_ids=["warn"]).warnings == []


@pytest.mark.parametrize(
    ("text", "code", "underlined", "help_"),
    [
        ("contxt.turn.number", "unknown-name", "contxt", "did you mean `context`?"),
        ("[ee for e in [1]]", "unknown-name", "ee", "did you mean `e`?"),
        ("null", "unknown-name", "null", "write `None`"),
        ("len", "unknown-name", "len", "call it: `len(…)`"),
        ("context.turn.numbr", "unknown-attribute", "numbr", "did you mean `number`?"),
        ("context.turn['numbr']", "unknown-attribute", "'numbr'", "did you mean `number`?"),
        ("[m.rol for m in context.history.messages]", "unknown-attribute", "rol", "did you mean `role`?"),
        ("1 + lenn([1])", "unknown-function", "lenn", "did you mean `len`?"),
        ("'a'.lowr() == 'a'", "unknown-method", "lowr", "did you mean `lower`?"),
        ("'a'.lower(1)", "wrong-arguments", "'a'.lower(1)", "write `lower()`"),
        ("'a'.split(x=1)", "wrong-arguments", "x=1", "write `split([sep], [maxsplit])`"),
        ("'a'.strip(chars='a')", "wrong-arguments", "chars='a'", "write `strip([chars])`"),
        ("int('1', 2, base=3)", "wrong-arguments", "base=3", "write `int(value, [base])`"),
        ("sum([1], start=1, start=2)", "wrong-arguments", "start=2", "write `sum(value, [start])`"),
        ("sorted([1], True)", "wrong-arguments", "sorted([1], True)", "write `sorted(value, reverse=…)`"),
        ("max(default=1)", "wrong-arguments", "max(default=1)", "write `max(value, default=…)`"),
        ("[" * 9 + "1" + " for x in [1]]" * 9, "expression-too-deep", "[1 for x in [1]]", SPLIT),
    ],
    ids=lambda value: value[:40],
)  # fmt: skip
def test_why_a_condition_is_refused(text, code, underlined, help_):
    assert refusals(condition, text) == [(code, underlined, help_)]


def test_everything_that_is_wrong_is_said_at_once():
    found = refusals(condition, "foo(1) + contxt.turn + context.turns")

    assert [(code, underlined) for code, underlined, _ in found] == [
        ("unknown-function", "foo"),
        ("unknown-name", "contxt"),
        ("unknown-attribute", "turns"),
    ]


@pytest.mark.parametrize(
    ("text", "headline", "underlined"),
    [
        ("1 + true == 2", "`+` is not defined for these values", "1 + true"),
        ("'a' * 2 == 'aa'", "`*` is not defined for these values", "'a' * 2"),
        ("last_role < 1", "`<` is not defined for these values", "last_role < 1"),
        ("1 in turn_index", "`in` is not defined for these values", "1 in turn_index"),
        ("not turn_index", "`not` needs a boolean", "not turn_index"),
        ("1 > -'a'", "`-` needs a number", "-'a'"),
        ("true and turn_index", "`and` needs booleans", "turn_index"),
        ("ever_called(1)", "`tool` must be a text", "1"),
        ("called_since('x', 'y')", "`n_turns` must be a number", "'y'"),
    ],
)
def test_what_is_certain_to_fail_in_a_guard(text, headline, underlined):
    (found,) = guard(text).warnings

    assert (found.code, found.headline, found.underlined) == (
        "certain-type-error",
        headline,
        underlined,
    )
    assert found.note == "this fails for every event"


@pytest.mark.parametrize(
    ("text", "headline", "underlined"),
    [
        ("'a' - 1", "`-` is not defined for these values", "'a' - 1"),
        ("1 < 2 < 'a'", "`<` is not defined for these values", "2 < 'a'"),
        ("1 in 'a'", "`in` is not defined for these values", "1 in 'a'"),
        ("-[1]", "`-` needs a number", "-[1]"),
        ("context.turn.number.x", "a whole number has no `x`", "context.turn.number.x"),
        ("context.user.id.x", "a text or null has no `x`", "context.user.id.x"),
        ("context.turn.number[0]", "a whole number cannot be indexed", "context.turn.number[0]"),
        ("[1]['b']", "an index must be a whole number", "[1]['b']"),
        ("{'a': 1}[:]", "only a text or list can be sliced", "{'a': 1}[:]"),
        ("[x for x in 5]", "this has no elements", "5"),
        ("[1].lower()", "a list has no method `lower`", "[1].lower()"),
        ("round(1, ndigits='a')", "`ndigits` must be a whole number", "'a'"),
        ("'a'.startswith(1)", "`prefix` must be a text or a tuple", "1"),
        ("tool_completed(1)", "`name` must be a text", "1"),
    ],
)
def test_what_is_certain_to_fail_in_a_condition(text, headline, underlined):
    (found,) = condition(text).warnings

    assert (found.code, found.headline, found.underlined) == (
        "certain-type-error",
        headline,
        underlined,
    )


@pytest.mark.parametrize(
    "text",
    ["context.turn.token_usage + 1", "(1 or 'a') + 1", "context.state.a.b", "context.result.result[0]",
     "True + 1", "[1, 'a'][0] + 1", "context.history.failures.get('x') > 1", "{1} - {2}", "{1} <= {2}"],
)  # fmt: skip
def test_what_may_succeed_is_not_doubted(text):
    assert condition(text).warnings == []


def test_a_key_that_looks_like_a_method():
    (found,) = condition("context.state.keys == 1").warnings

    assert shown(found) == (
        "key-like-method", "keys", "write `.keys()` for the method, or `['keys']` for the key",
    )  # fmt: skip
    assert condition("context.state['keys'] == context.state.keys()").warnings == []


@pytest.mark.parametrize(
    ("text", "doubted"), [("1 + 1", True), ("1 + 1 == 2", False), ("context.state.a", False)]
)
def test_a_condition_that_is_never_a_boolean(text, doubted):
    found = [shown(warning) for warning in warn_if_not_boolean(condition(text))]

    assert found == ([("not-boolean", text, "compare it with something")] if doubted else [])
