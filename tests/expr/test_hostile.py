"""Expressions that try to get out, to grow or to hang: each is refused for the right reason.

They run in a process with little memory, and the clock is watched from outside.
"""

import pytest
from evaluating import evaluated

# The way out: by the code that must refuse it.
WALKS = {
    "private-name": [
        "context.__class__",
        "context.__init__.__globals__",
        "''.__class__.__mro__[1].__subclasses__()",
        "().__class__.__bases__[0].__subclasses__()",
        "[].__len__()",
        "{}.__getitem__('a')",
        "context._private",
        "context.user.id.__add__('x')",
        "__builtins__",
        "len.__self__",
        "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen']",
        "𝐜ontext.__class__",
    ],
    "unknown-function": [
        "__import__('os').system('id')",
        "globals()",
        "locals()",
        "vars()",
        "getattr(context, 'turn')",
        "type(context)",
        "isinstance(1, 2)",
        "open('/etc/passwd').read()",
        "exec('1')",
        "eval('1')",
        "compile('1', '', 'eval')",
        "print(1)",
        "input()",
        "breakpoint()",
        "range(10 ** 9)",
        "Budget(0)",
        "each([1], 1, 1, 1)",
    ],
    "unknown-method": [
        "context.history.messages.append(1)",
        "context.history.messages.clear()",
        "context.state.update({'a': 1})",
        "context.state.pop('k')",
        "context.state.setdefault('k', 1)",
    ],
    "unknown-name": ["B", "v", "v.context", "t1", "é" * 3000],
    "unknown-attribute": ["context['__class__']", "context.clear"],
    "unsupported-syntax": ["(lambda x: x)(1)", "(x := 1)", "[*context.history.tools]"],
    "guard-type": ["context.turn.number.real", "context.user.id.x"],
    "expression-syntax": ["context.＿class__"],
}
FORMATS = {
    "unknown-method": [
        "'{0.__class__}'.format(1)",
        "'{a}'.format_map({'a': 1})",
        "'a'.ljust(400000000)",
        "'a'.zfill(400000000)",
        "'a'.center(400000000)",
        "'a\\tb'.expandtabs(400000000)",
        "'a'.encode()",
        "'a'.translate({97: 'b' * 1000})",
    ],
    "unsupported-syntax": [
        "f'{1:>400000000}'",
        "f'{1:{400000000}}'",
        "f'{context!r}'",
        "f'{(lambda: 1)()}'",
    ],
    "guard-type": ["'%s' % context", "'%400000000d' % 1"],
}
GROWTH = {
    "guard-too-large": [
        "9 ** 9 ** 9",
        "3999999 ** 3999999",
        "2 ** 100000",
        "'a' * 10 ** 9",
        "10 ** 9 * 'a'",
        "[0] * 10 ** 9",
        "(0,) * 10 ** 9",
        "('a' * 99999).replace('a', 'b' * 9999)",
        "('a' * 99999).replace('', 'b' * 9999)",
        "('a' * 9999).join(['b'] * 9999)",
        "('a' * 99999).split('a')",
        "('a,' * 49999).split(',') * 2",
        "[x for x in 'a' * 99999]",
        "sum([10 ** 1000] * 9999) ** 99",
        "int('9' * 5000)",
        "int('f' * 5000, 16)",
        "'a' * 99999 + 'b' * 99999",
        "'ﬃ' * 99999 == ('ﬃ' * 99999).upper()",
    ],
    "guard-budget": [
        "[[0] * 9999] * 9999",
        "[x + y for x in 'a' * 9999 for y in 'a' * 9999]",
        "str([['a' * 99999] * 99] * 99)",
        "f\"{['a' * 99999] * 9999}\"",
        "{str(x): 'a' * 99999 for x in 'a' * 9999}.get('a') * 2",
        "[e for a in [[1] * 99] for b in [[a] * 99] for c in [[b] * 99] for d in [[c] * 99] for e in [[d] * 9]]",
        "[{(d, d): 1} for a in [(1,) * 99] for b in [(a,) * 99] for c in [(b,) * 99] for d in [(c,) * 99]]",
    ],
    "guard-arithmetic": ["(-8) ** 0.5", "0 ** -1", "10.0 ** 400", "10 ** 400 / 3", "1 // 0"],
    "guard-value": ["round(5, -10 ** 9)"],
    "malformed-number": ["1" + "0" * 5000, "0x" + "f" * 5000, "1e999"],
}
NESTING = {
    "expression-too-long": [
        "(" * 5000 + "1" + ")" * 5000,
        "x" * 9000,
        "'" + "a" * 9000 + "'",
        "1 < 2" * 3000,
        "[" + "1," * 3000 + "]",
    ],
    "expression-too-deep": [
        "[" * 4000 + "]" * 4000,
        "-" * 8000 + "1",
        "not " * 2000 + "1",
        "1" + " + 1" * 2000,
        "context" + ".turn" * 1500,
        "1 if 1 else " * 600 + "1",
        "[x " + "for x in [1] " * 30 + "]",
        "[" * 12 + "1" + " for x in [1]]" * 12,
    ],
    "expression-syntax": [
        "\0",
        "'\ud800'",
        "'\\ud800'",
        "f'\\udfff{1}'",
        "1\u202e+1",
        "(" * 99,
        "f'{f'{",
    ],
}
GUARDS = {
    "unknown-function": ["__import__('os')"],
    "unknown-attribute": ["event.__class__", "event.tool.__init__"],
    "unsupported-syntax": ["last_role.__class__", "'a'[0]", "'a'('b')"],
    "unsupported-operator": ["10 ** 10", "1 << 99"],
    "guard-type": [
        "'a' * 1000000",
        "arg(" * 40 + "'x'" + ")" * 40 + " == now()",
        "not " * 45 + "arg('x')",
        "'\ud800' + 1",
    ],
    "guard-too-large": ["9" * 1200 + " * " + "9" * 1200 + " > 1"],
    "guard-arithmetic": ["1 / 0 > 1", "9" * 400 + " / 3 > 1"],
    "expression-too-deep": [
        "(" * 3000 + "true" + ")" * 3000,
        "-" * 8000 + "1",
        "not " * 2000 + "true",
        "[" * 200 + "]" * 200,
        "1" + " + 1" * 100,
    ],
    "expression-too-long": [
        "true" + " and true" * 2000,
        "x" * 9000,
        "'" + "a" * 9000 + "'",
        "[" + "1," * 3000 + "1]",
    ],
    "malformed-number": ["9" * 5000 + " > 1", "1e999 > 1"],
    "expression-syntax": ["\0 == 1", "“x” == 'x'"],
    "time-outside-comparison": ["now() * now() > 1"],
    "literal-needed": ["jsonpath('$' + '..*')"],
    "unsupported-jsonpath": ["jsonpath('$[99999999999999999999]')"],
}
GROUPS = {
    "walks": ("conditions", WALKS),
    "formats": ("conditions", FORMATS),
    "growth": ("conditions", GROWTH),
    "nesting": ("conditions", NESTING),
    "guards": ("guards", GUARDS),
}


@pytest.mark.parametrize("group", GROUPS)
def test_a_hostile_expression_is_refused_for_the_right_reason(group, tmp_path):
    language, codes = GROUPS[group]
    wanted = [(text, code) for code, texts in codes.items() for text in texts]
    endings = evaluated(language, [text for text, _ in wanted], tmp_path)

    assert wanted == [(text, end) for (text, _), (_, end) in zip(wanted, endings, strict=True)]


def test_there_are_enough_of_them():
    assert sum(len(texts) for _, codes in GROUPS.values() for texts in codes.values()) >= 100
