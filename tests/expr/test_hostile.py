"""Expressions that try to get out, to grow or to hang: refused at load, or an error at the end."""

import resource
import time

import pytest

from bylaw.expr.expression import load_condition, load_guard
from bylaw.expr.guard_environment import GuardView, guard_environment
from bylaw.model.errors import GuardError, LoadError
from bylaw.model.source import SourceFile, Span
from bylaw.tools.expression_facts import condition_view

WALKS = [
    "context.__class__",
    "context.__init__.__globals__",
    "''.__class__.__mro__[1].__subclasses__()",
    "().__class__.__bases__[0].__subclasses__()",
    "[].__len__()",
    "{}.__getitem__('a')",
    "context._private",
    "context.user.id.__add__('x')",
    "__import__('os').system('id')",
    "__builtins__",
    "globals()",
    "locals()",
    "vars()",
    "getattr(context, 'turn')",
    "type(context)",
    "isinstance(1, int)",
    "open('/etc/passwd').read()",
    "exec('1')",
    "eval('1')",
    "compile('1', '', 'eval')",
    "print(1)",
    "input()",
    "breakpoint()",
    "context.turn.number.real",
    "len.__self__",
    "(lambda x: x)(1)",
    "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen']",
    "context.history.messages.append(1)",
    "context.history.messages.clear()",
    "context.state.update({'a': 1})",
    "context.state.pop('k')",
    "context.state.setdefault('k', 1)",
    "context['__class__']",
    "𝐜ontext.__class__",
    "context.＿class__",
    "B",
    "v",
    "v.context",
    "Budget(0)",
    "each([1], 1, 1, 1)",
    "t1",
]
FORMATS = [
    "'{0.__class__}'.format(1)",
    "'{a}'.format_map({'a': 1})",
    "'%s' % context",
    "'%400000000d' % 1",
    "f'{1:>400000000}'",
    "f'{1:{400000000}}'",
    "f'{context!r}'",
    "f'{(lambda: 1)()}'",
    "'a'.ljust(400000000)",
    "'a'.zfill(400000000)",
    "'a'.center(400000000)",
    "'a\\tb'.expandtabs(400000000)",
    "'a'.encode()",
    "'a'.translate({97: 'b' * 1000})",
]
GROWTH = [
    "9 ** 9 ** 9",
    "3999999 ** 3999999",
    "2 ** 100000",
    "(-8) ** 0.5",
    "0 ** -1",
    "10.0 ** 400",
    "'a' * 10 ** 9",
    "10 ** 9 * 'a'",
    "[0] * 10 ** 9",
    "(0,) * 10 ** 9",
    "[[0] * 9999] * 9999",
    "('a' * 99999).replace('a', 'b' * 9999)",
    "('a' * 99999).replace('', 'b' * 9999)",
    "('a' * 9999).join(['b'] * 9999)",
    "('a' * 99999).split('a')",
    "('a,' * 49999).split(',') * 2",
    "[x for x in 'a' * 99999]",
    "[x for x in range(10 ** 9)]",
    "[x + y for x in 'a' * 9999 for y in 'a' * 9999]",
    "sum([10 ** 1000] * 9999) ** 99",
    "str([['a' * 99999] * 99] * 99)",
    "f\"{['a' * 99999] * 9999}\"",
    "int('9' * 5000)",
    "int('f' * 5000, 16)",
    "round(5, -10 ** 9)",
    "1" + "0" * 5000,
    "0x" + "f" * 5000,
    "1e999",
    "'a' * 99999 + 'b' * 99999",
    "{str(x): 'a' * 99999 for x in 'a' * 9999}" + ".get('a') * 2",
]
NESTING = [
    "(" * 5000 + "1" + ")" * 5000,
    "[" * 4000 + "]" * 4000,
    "-" * 8000 + "1",
    "not " * 2000 + "1",
    "1" + " + 1" * 2000,
    "context" + ".turn" * 1500,
    "1 if 1 else " * 600 + "1",
    "[x " + "for x in [1] " * 30 + "]",
    "[" * 12 + "1" + " for x in [1]]" * 12,
    "f'{" * 20 + "1" + "}'" * 20,
    "[e for a in [[1] * 99] for b in [[a] * 99] for c in [[b] * 99] for d in [[c] * 99] for e in [[d] * 9]]",
    "[{(d, d): 1} for a in [(1,) * 99] for b in [(a,) * 99] for c in [(b,) * 99] for d in [(c,) * 99]]",
    "x" * 9000,
    "'" + "a" * 9000 + "'",
    "1 < 2" * 3000,
    "\0",
    "'\ud800'",
    "1\u202e+1",
    "é" * 3000,
]
GUARDS = [
    "__import__('os')",
    "event.__class__",
    "event.tool.__init__",
    "last_role.__class__",
    "'a' * 1000000",
    "10 ** 10",
    "(" * 3000 + "true" + ")" * 3000,
    "-" * 8000 + "1",
    "not " * 2000 + "true",
    "true" + " and true" * 2000,
    "[" * 200 + "]" * 200,
    "1" + " + 1" * 100,
    "9" * 5000 + " > 1",
    "1e999 > 1",
    "arg(" * 40 + "'x'" + ")" * 40 + " == now()",
    "x" * 9000,
    "'" + "a" * 9000 + "'",
    "\0 == 1",
    "'\ud800' + 1",
    "“x” == 'x'",
    "now() * now() > 1",
    "jsonpath('$' + '..*')",
    "jsonpath('$[99999999999999999999]')",
]  # fmt: skip
VIEW = condition_view(SourceFile("facts", "{}"))


def refused(load, text, view):
    started = time.process_time()
    try:
        loaded = load(SourceFile("x", text), Span(0, len(text)))
        loaded.evaluate(view)
    except (LoadError, GuardError) as problem:
        assert time.process_time() - started < 1
        return type(problem).__name__
    return None


@pytest.mark.parametrize("text", [*WALKS, *FORMATS, *GROWTH, *NESTING], ids=lambda t: repr(t)[:60])
def test_a_hostile_condition_has_no_value(text):
    assert refused(load_condition, text, VIEW) is not None


@pytest.mark.parametrize("text", GUARDS, ids=lambda t: repr(t)[:60])
def test_a_hostile_guard_has_no_value(text):
    def load(source, span):
        return load_guard(source, span, guard_environment())

    assert refused(load, text, GuardView()) is not None


def test_there_are_enough_of_them():
    assert len({*WALKS, *FORMATS, *GROWTH, *NESTING, *GUARDS}) >= 60


def test_none_of_them_needed_much_memory():
    """The high-water mark of this process, with everything above in it."""
    for text in (*WALKS, *FORMATS, *GROWTH, *NESTING):
        refused(load_condition, text, VIEW)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 512 * 1024
