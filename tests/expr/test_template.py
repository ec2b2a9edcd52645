"""Templates: what Jinja gives, within limits; hostile ones are refused or end in an error."""

import json
import subprocess
import sys
import warnings

import jinja2
import pytest
from evaluating import evaluated
from hypothesis import given, settings
from hypothesis import strategies as st

from bylaw.expr.template import MAX_TEMPLATE_CHARS, TemplateNames, load_template
from bylaw.expr.template.filters import FILTERS, MAX_LOOP_ITEMS, TESTS
from bylaw.model.codes import Code
from bylaw.model.codes import templates as codes
from bylaw.model.diagnostic import Severity
from bylaw.model.errors import LoadError, RenderError
from bylaw.model.source import SourceFile, Span
from counting import growth, steps_of

NAMES = TemplateNames(
    {
        "context": {
            "turn": {"number": None, "token_usage": None},
            "history": {"messages": None, "failures": None},
            "user": {"id": None, "settings": None},
            "state": None,
            "result": None,
        }
    }
)
VALUES = {
    "context": {
        "turn": {"number": 7, "token_usage": 0.58},
        "history": {
            "messages": [{"role": "user", "content": "hi"}, {"role": "tool", "content": "ok"}],
            "failures": {"grep": 2},
        },
        "user": {"id": "u1", "settings": {"lang": "en"}},
        "state": {"items": 3, "get": "key", "_own": 1, "list": [1, 2, 3], "none": None},
        "result": "x" * 1_000_000,
    }
}
ALL_CODES = [
    value
    for value in vars(codes).values()
    if isinstance(value, Code) and value.example.kind == "template"
]


def load(text, names=NAMES):
    source = SourceFile("rule.toml", f"message = '''{text}'''\n")
    return load_template(source, Span(13, 13 + len(text)), names)


def render(text, values=VALUES):
    return load(text).render(values)


def refused(text):
    with pytest.raises(LoadError) as caught:
        load(text)
    return caught.value.diagnostics


def failing(text, values=VALUES):
    template = load(text)
    with pytest.raises(RenderError) as caught:
        template.render(values)
    return caught.value


# --- what works ---------------------------------------------------------------------------------

RENDERED = [
    ("Template {{ context.turn.number }}", "Template 7"),  # TR-072
    ("Rule triggered", "Rule triggered"),  # TR-083
    ("t={{ context.turn.number }}", "t=7"),  # TR-083
    ("{{ context.turn.number }}", "7"),  # TR-088, TR-A04: text, never a number
    ("{{ context.user.id }}", "u1"),  # TR-092
    ("{{ 1 + 1 }}", "2"),  # TR-094
    ("{{ (context.turn.token_usage * 100) | int }}%", "57%"),  # TR-096, A.5
    ("a\n", "a\n"),  # TR-A28: the trailing newline stays
    ("<b>{{ '<i>' }}</b>", "<b><i></b>"),  # TR-A28: no escaping
    ("{{ context.turn['number'] }}", "7"),
    ("{{ context.state.items }} {{ context.state.get }}", "3 key"),  # keys, never methods
    ("{{ context.state['_own'] }}", "1"),
    ("{{ context.state.none }}", "None"),
    ("{{ context.state.list }} {{ context.history.failures }}", "[1, 2, 3] {'grep': 2}"),
    ("{{ context.state.note | default('none') }}", "none"),
    ("{{ context.missing | default('none') }}", "none"),
    ("{{ context['missing'] | default('none') }}", "none"),
    ("{{ context.state.note is defined }}", "False"),
    ("{% if context.turn.number > 5 %}late{% else %}early{% endif %}", "late"),
    ("{{ 'late' if context.turn.number > 5 else 'early' }}", "late"),
    (
        "{% for m in context.history.messages %}{{ loop.index }}{{ m.role }} {% endfor %}",
        "1user 2tool ",
    ),
    ("{% for m in context.history.messages[-1:] %}{{ m.content }}{% endfor %}", "ok"),
    (
        "{% for m in context.history.messages if m.role == 'user' %}{{ m.content }}{% endfor %}",
        "hi",
    ),
    ("{% for n in context.state.list %}{{ n }}{% else %}none{% endfor %}", "123"),
    (
        "{% for n in context.state.list %}{{ n }}{% if not loop.last %}, {% endif %}{% endfor %}",
        "1, 2, 3",
    ),
    ("{{ context.history.messages | join(', ', attribute='role') }}", "user, tool"),
    ("{{ context.result | truncate(9) }}", "xxxxxx..."),
    ("{{ context.result | length }}", "1000000"),
    ("{{ ' A b ' | trim | upper | lower | title | replace('B', 'c') }}", "A c"),
    (
        "{{ 2.5 | round }} {{ 2.345 | round(2) }} {{ '3.7' | float }} {{ -3 | abs }}",
        "2.0 2.35 3.7 3",
    ),
    ("{{ [1, 2] | first }}{{ 'abc' | last }}{{ [3, 4] | string }}", "1c[3, 4]"),
    (
        "{{ context.history.messages | tojson }}",
        json.dumps(VALUES["context"]["history"]["messages"], sort_keys=True),
    ),
    ("{{ 'aaa' | replace('a', 'b', 10**30) }}", "bbb"),
    ("{{ 'aaa' | replace('a', 'b', -(10**30)) }}", "bbb"),
    ("{{ '' * 10**30 }}{{ 'a' * -(10**30) }}", ""),
    ("{{ 4 is divisibleby(by=2) }}", "True"),
    (
        "{{ [] | tojson }} {{ [[], 'é', 1.5, true, none] | tojson }}",
        '[] [[], "é", 1.5, true, null]',
    ),
    ("{{ 'n=' ~ context.turn.number ~ '!' }}", "n=7!"),
    (
        "{{ 7 // 2 }} {{ 7 % 4 }} {{ 2 ** 10 }} {{ 'ab' * 2 }} {{ [1] + [2] }}",
        "3 3 1024 abab [1, 2]",
    ),
    ("{% raw %}{{ not.a.value }}{% endraw %}{# a comment #}", "{{ not.a.value }}"),
    (
        "{{ 4 is even }} {{ 4 is divisibleby 3 }} {{ 'a' is string }} {{ none is none }}",
        "True False True True",
    ),
    ("{{- 'a' -}}   b", "ab"),
    ("{{ '\\x41\\n\\\\d\\0\\101\\'' }}", "A\n\\d\0A'"),
    ("é😀{{ 'é😀' }}", "é😀é😀"),
]


@pytest.mark.parametrize(("text", "expected"), RENDERED)
def test_a_template_gives_what_jinja_gives(text, expected):
    assert render(text) == expected


@pytest.mark.parametrize(
    ("usage", "percent"), [(0.85, "85%"), (0.815, "81%"), (0.58, "57%"), (0.57, "56%")]
)
def test_int_truncates(usage, percent):
    """TR-096, Appendix A.5."""
    values = {"context": {"turn": {"token_usage": usage}}}

    assert render("{{ (context.turn.token_usage * 100) | int }}%", values) == percent


def test_rendered_text_is_not_rendered_again():
    """TR-097, TR-A29."""
    assert (
        render("{{ context.user.id }}", {"context": {"user": {"id": "{{ 7*7 }}"}}}) == "{{ 7*7 }}"
    )


def test_a_template_is_compiled_once_and_rendered_often():
    template = load("{{ context.turn.number }}")

    assert [template.render({"context": {"turn": {"number": n}}}) for n in range(3)] == [
        "0",
        "1",
        "2",
    ]


def test_rendering_changes_no_value():
    before = json.dumps(VALUES)
    for text, _ in RENDERED:
        render(text)

    assert json.dumps(VALUES) == before


def test_jinja_is_loaded_only_for_templates():
    script = "import sys, bylaw, bylaw.expr, bylaw.model.codes.templates; sys.exit('jinja2' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


# --- refused at load ----------------------------------------------------------------------------

REFUSED = [
    ("{{", codes.TEMPLATE_SYNTAX, "{{"),  # TR-072, TR-A31
    ("a {{ context.turn.number", codes.TEMPLATE_SYNTAX, "{{ context.turn.number"),
    ("a\r\nb {{ context..x }}", codes.TEMPLATE_SYNTAX, "."),
    ("{{ 1 $ 2 }}", codes.TEMPLATE_SYNTAX, "$ 2 }}"),
    ("{% if 1 %}a", codes.TEMPLATE_SYNTAX, "{% if 1 %}a"),
    ("{% endif %}", codes.TEMPLATE_SYNTAX, "endif"),
    ("{% do 1 %}", codes.TEMPLATE_SYNTAX, "do"),
    ("{% break %}", codes.TEMPLATE_SYNTAX, "break"),
    ("{% trans %}a{% endtrans %}", codes.TEMPLATE_SYNTAX, "trans"),
    ("{{ 'a }}", codes.TEMPLATE_SYNTAX, "'a }}"),
    ("{# a", codes.TEMPLATE_SYNTAX, "a"),
    ("{% raw %}a", codes.TEMPLATE_SYNTAX, "a"),
    ("{% set n = 1 %}", codes.TEMPLATE_FORBIDDEN, "set"),
    ("{% set n %}a{% endset %}", codes.TEMPLATE_FORBIDDEN, "set"),
    ("{% with n = 1 %}a{% endwith %}", codes.TEMPLATE_FORBIDDEN, "with"),
    ("{% include 'a' %}", codes.TEMPLATE_FORBIDDEN, "include"),
    ("{% import 'a' as b %}", codes.TEMPLATE_FORBIDDEN, "import"),
    ("{% from 'a' import b %}", codes.TEMPLATE_FORBIDDEN, "from"),
    ("{% extends 'a' %}", codes.TEMPLATE_FORBIDDEN, "extends"),
    ("{% block a %}{% endblock %}", codes.TEMPLATE_FORBIDDEN, "block"),
    ("{% macro a() %}{% endmacro %}", codes.TEMPLATE_FORBIDDEN, "macro"),
    ("{% call a() %}{% endcall %}", codes.TEMPLATE_FORBIDDEN, "call"),
    ("{% filter upper %}a{% endfilter %}", codes.TEMPLATE_FORBIDDEN, "filter"),
    ("{% autoescape true %}{% endautoescape %}", codes.TEMPLATE_FORBIDDEN, "autoescape"),
    ("{{ {'a': 1} }}", codes.TEMPLATE_FORBIDDEN, "{"),
    ("{{ 'a' if context.turn }}", codes.TEMPLATE_FORBIDDEN, "{{ 'a' if context.turn }}"),
    ("{{ context.state.get('a', (1)) }}", codes.TEMPLATE_FORBIDDEN, "context.state.get('a', (1))"),
    ("{{ 'a'.upper() }}", codes.TEMPLATE_FORBIDDEN, "'a'.upper()"),
    ("{{ 'a' | replace(*['a', 'b']) }}", codes.TEMPLATE_FORBIDDEN, "replace"),
    ("{% for n in context.state.list %}{{ loop }}{% endfor %}", codes.TEMPLATE_FORBIDDEN, "loop"),
    ("{% for n in range(9) %}{% endfor %}", codes.TEMPLATE_LOOP, "range(9)"),
    ("{% for n in [1, 2] %}{% endfor %}", codes.TEMPLATE_LOOP, "[1, 2]"),
    (
        "{% for n in context.state.list | list %}{% endfor %}",
        codes.TEMPLATE_LOOP,
        "context.state.list | list",
    ),
    ("{% for n in context.state.list recursive %}{% endfor %}", codes.TEMPLATE_LOOP, "for"),
    ("{% for loop in context.state.list %}{% endfor %}", codes.TEMPLATE_LOOP, "loop"),
    (
        "{% for n in context.state.list if loop.index %}{% endfor %}",
        codes.TEMPLATE_UNKNOWN_NAME,
        "loop",
    ),
    ("{{ contxt.turn }}", codes.TEMPLATE_UNKNOWN_NAME, "contxt"),
    ("{{ context.turn }} {{ turn }}", codes.TEMPLATE_UNKNOWN_NAME, "turn"),
    ("{{ loop.index }}", codes.TEMPLATE_UNKNOWN_NAME, "loop"),
    ("{{ context.turn.number | itn }}", codes.TEMPLATE_UNKNOWN_FILTER, "itn"),
    ("{{ 'a' | replace('b') }}", codes.TEMPLATE_ARGUMENTS, "replace"),
    ("{{ 'a' | upper(x=1) }}", codes.TEMPLATE_ARGUMENTS, "upper"),
    ("{{ 1 is divisibleby }}", codes.TEMPLATE_ARGUMENTS, "divisibleby"),
    ("{{ 'a\\d' }}", codes.TEMPLATE_SYNTAX, "\\d"),
    ("{{ '\\\\\\777' }}", codes.TEMPLATE_SYNTAX, "\\7"),
    ("{{ '\\ud83d\\ude00' }}", codes.TEMPLATE_SYNTAX, "\\ud83d"),
    ("{{ '\\\\\\U0000DFff' }}", codes.TEMPLATE_SYNTAX, "\\U0000DFff"),
    ("{{ 1 is not evn }}", codes.TEMPLATE_UNKNOWN_TEST, "evn"),
    ("é\r\n😀\r\n{{ a }}\r\n", codes.TEMPLATE_UNKNOWN_NAME, "a"),
]


@pytest.mark.parametrize(("text", "code", "underlined"), REFUSED)
def test_what_is_refused_at_load_is_underlined(text, code, underlined):
    (found,) = refused(text)

    assert (found.code, found.underlined) == (code.name, underlined)
    assert found.severity is Severity.ERROR
    assert found.help


def test_the_second_of_two_loops_is_underlined():
    inner = "{% for b in context.state.list %}{% endfor %}"
    (found,) = refused("{% for a in context.state.list %}" + inner + "{% endfor %}")

    assert (found.code, found.underlined) == ("template-loop", "for")
    assert found.span.start == 13 + 33 + 3


def test_a_misspelt_filter_or_name_is_suggested():
    assert refused("{{ context.turn.number | itn }}")[0].help == "did you mean `int`?"
    assert refused("{{ contxt }}")[0].help == "did you mean `context`?"


@pytest.mark.parametrize(
    ("text", "help_"),
    [
        ("{{ 'a' | replace('b') }}", "write `replace(old, new, count=-1)`"),
        ("{{ 'a' | upper(1) }}", "write `upper`"),
        ("{{ 1.5 | round(1, 'floor', 2) }}", "write `round(digits=0, method='common')`"),
        ("{{ [1] | join(by=2) }}", "write `join(between='', attribute=None)`"),
        ("{{ 1 is divisibleby }}", "write `divisibleby(by)`"),
        ("{{ 1 is even(2) }}", "write `even`"),
    ],
)
def test_wrong_arguments_are_answered_with_the_right_ones(text, help_):
    assert refused(text)[0].help == help_


def test_every_mistake_of_a_template_is_reported():
    found = refused("{{ a }} {{ b | nope }}\n{% set c = 1 %}")

    assert [each.underlined for each in found] == ["a", "b", "nope", "set"]


# --- certain failures: a warning at load, an error when rendered ------------------------------------

CERTAIN = [
    ("{{ ''.__class__.__mro__ }}", ["__class__", "__mro__"], "render-private"),  # TR-094
    ("{{ context.missing }}", ["missing"], "render-undefined"),  # TR-095, TR-A28
    ("a {{ context.turn.nmber }} b", ["nmber"], "render-undefined"),
    ("{{ context.turn['nmber'] }}", ["'nmber'"], "render-undefined"),
    ("{% if context.missing %}{% endif %}", ["missing"], "render-undefined"),
    ("{{ [context.missing] }}", ["missing"], "render-undefined"),
    ("{{ context.missing ~ 'a' }}", ["missing"], "render-undefined"),
    ("{{ context['missing'].x | d(1) }}", ["'missing'"], "render-undefined"),
    ("{{ context['missing']['x'] | d(1) }}", ["'missing'"], "render-undefined"),
    ("{% for m in context.missing %}{% endfor %}", ["missing"], "render-undefined"),
    ("{% for n in context.state.list %}{{ loop.idx }}{% endfor %}", ["idx"], "render-type"),
]


@pytest.mark.parametrize(("text", "underlined", "code"), CERTAIN)
def test_a_certain_failure_is_a_warning_and_an_action_error(text, underlined, code):
    assert [each.underlined for each in load(text).warnings] == underlined
    assert {each.severity for each in load(text).warnings} == {Severity.WARNING}
    assert failing(text).code == code


def test_what_may_be_there_is_no_warning():
    for text in (
        "{{ context.state.anything }}",
        "{{ context.missing | d(1) }}",
        "{{ context.missing is defined }}",
        "{{ context['missing'] | default('x') }}",
        "{{ context['missing'] is not defined }}",
        "{{ context.turn['missing'] is undefined }}",
    ):
        assert load(text).warnings == ()


def test_an_unknown_attribute_is_suggested():
    (found,) = load("{{ context.turn.nmber }}").warnings

    assert found.help == "did you mean `number`?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a {{ context.state.nope }} b",
            "`{{ context.state.nope }}`: `nope` not found; did you mean `none`?",
        ),
        (
            "{{ 1 }} {{ context.turn.number / (context.turn.number - 7) }}",
            "`{{ context.turn.number / (context.turn.number - 7) }}`: division by zero (with `context.turn.number` = 7)",
        ),
        (
            "{{ context.turn.number + context.user.id }}",
            (
                "`{{ context.turn.number + context.user.id }}`: `+` needs two numbers, texts or lists "
                "(with `context.turn.number` = 7, `context.user.id` = 'u1')"
            ),
        ),
        ("{{ 2.0 ** 5000 }}", "`{{ 2.0 ** 5000 }}`: the result is too large"),
        (
            "{{ 'a' | replace('a', 1) }}",
            "`{{ 'a' | replace('a', 1) }}`: `replace` takes two texts and a whole number",
        ),
        (
            "{% if context.user.id > 1 %}{% endif %}",
            "`{% if context.user.id > 1 %}`: this operation does not support these values (with `context.user.id` = 'u1')",
        ),
    ],
)
def test_an_error_says_which_part_failed_with_which_values(text, message):
    assert failing(text).message == message


# --- hostile ------------------------------------------------------------------------------------

LIST = "context.state.list"
HOSTILE = [
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''['__class__'] }}",
    "{{ 1[1:] }}",
    "{{ context.state['a':] }}",
    "{{ context['__class__']['__init__'] }}",
    "{{ context.__init__.__globals__ }}",
    "{{ (context | attr('__class__')) }}",
    "{{ context.state.list.append(1) }}",
    "{{ context.state.items() }}",
    "{{ context.state.keys }}",
    "{{ ''.format }}",
    "{{ '{0.__class__}'.format(context) }}",
    "{{ '%s' | format(context) }}",
    "{{ '%400000000d' % 1 }}",
    "{{ '%400000000d' is even }}",
    "{{ '%400000000d' is divisibleby 3 }}",
    "{{ 'x' * 10**9 }}",
    "{{ [0] * 10**9 }}",
    "{{ (0,) * 10**9 }}",
    "{{ 10**9 * 'x' }}",
    "{{ 'x' | center(500000000) }}",
    "{{ 'x' | indent(500000000) }}",
    "{{ 'x' | wordwrap }}",
    "{{ 9999999 ** 9999999 }}",
    "{{ 2 ** 4096 ** 2 }}",
    "{{ 2 ** 4095 * 2 ** 4095 }}",
    "{{ 10.0 ** 400 }}",
    "{{ (-8) ** 0.5 }}",
    "{{ 1 // 0 }}",
    "{{ 1.5 | round(100000000, 'ceil') }}",
    "{{ context.result * 1000 }}",
    "{{ context.result ~ context.result }}",
    "{{ context.result + context.result }}",
    "{{ context.result | replace('x', 'y' * 90000) }}",
    "{{ context.result | replace('', 'yyyyyyyyyy') }}",
    "{{ [context.result, context.result] | join(context.result) }}",
    "{{ context.result }}",
    "{{ context }}",
    "{{ context | tojson }}",
    "{{ context.state.list | map('upper') }}",
    "{{ context.state.list | select }}",
    "{{ context.state.list | random }}",
    "{{ context.state.list | batch(2) }}",
    "{{ range(100000) }}",
    "{{ lipsum(n=100000) }}",
    "{{ cycler(1, 2) }}",
    "{{ joiner() }}",
    "{{ namespace(a=1) }}",
    "{{ dict(a=1) }}",
    "{{ self }}",
    "{{ self._TemplateReference__context }}",
    "{{ super() }}",
    "{{ caller() }}",
    "{{ varargs }}",
    "{{ environment }}",
    "{{ _ }}",
    "{{ context.ｃontext }}",
    "{{ ｃontext }}",
    "{{ ''.__ｃlass__ }}",
    "{{ ''['\\x5f\\x5fclass\\x5f\\x5f'] }}",
    "{{ 1 .__class__ }}",
    "{{ context.state.list[0:10**100:10**100].__class__ }}",
    "{% for a in range(999999) %}{% for b in range(999999) %}{% endfor %}{% endfor %}",
    "{% for a in context.state.list recursive %}{{ loop(context.state.list) }}{% endfor %}",
    "{% for a in context.state.list %}{{ loop.__class__ }}{% endfor %}",
    "{% for a in context.state.list %}{{ loop._iterator }}{% endfor %}",
    "{% for a in context.state.list %}{{ loop.changed(1) }}{% endfor %}",
    "{% for a, b in context.state.list %}{{ a }}{% endfor %}",
    "{% for loop in context.state.list %}{% endfor %}",
    "{% for a in context.result %}{{ a }}{% endfor %}",
    "{% for a in context.history.failures %}{{ a }}{% endfor %}",
    "{% for a in context.turn.number %}{{ a }}{% endfor %}",
    "{% include context.user.id %}",
    "{% import '/etc/passwd' as p %}",
    "{% extends context %}",
    "{{ " + "(" * 300 + "1" + ")" * 300 + " }}",
    "{{ " + "[" * 5000 + "]" * 5000 + " }}",
    "{{ " + "not " * 4000 + "1 }}",
    "{{ " + "-" * 15000 + "1 }}",
    "{{ " + "1 if 1 else " * 1500 + "1 }}",
    "{{ " + "+".join("1" * 9000) + " }}",
    "{{ " + "**".join("1" * 5000) + " }}",
    "{{ " + " and ".join("1" * 3000) + " }}",
    "{{ context" + ".a" * 9000 + " }}",
    "{{ context" + "[0]" * 6000 + " }}",
    "{{ 1" + "|abs" * 4000 + " }}",
    "{{ 1" + " is number" * 1500 + " }}",
    "{% if 1 %}" * 900 + "{% endif %}" * 900,
    "{% for a in context.x %}" * 400 + "{% endfor %}" * 400,
    "{{ " + "9" * 15000 + " }}",
    "{{ 0x" + "f" * 15000 + " }}",
    "{{ " + "9" * 4000 + " }}",
    "{{ 1" + "0" * 1200 + " * 1" + "0" * 1200 + " }}",
    "{{ 'a' }}" * 600_000,
    "x" * 5_000_000,
    "{" * 19_000,
    "{{" * 9_000,
    "{%" * 9_000,
    "{#" * 9_000,
    "{{ '" + "\\" * 9_000,
    "{{ '\\N{" + "x" * 9000 + "}' }}",
    "{{ '\\ud800' | truncate(context) }}",
    "{{ \ud800 }}",
    "{{ \x00 }}",
]


GROWING = {
    "render-budget": [
        "{{ [['a'*1000]*1000]*1000 }}",
        "{{ [['a'*1000]*1000]*1000 ~ '' }}",
        "{{ ([['a'*1000]*1000]*1000) | string }}",
        "{{ ([['a'*1000]*1000]*1000) | tojson }}",
        "{{ ([['a'*1000]*1000]*1000) | upper }}",
        "{{ ([['a'*1000]*1000]*1000) | replace('a', 'b') }}",
        "{{ [[[1.0]*900]*900]*900 == [[[1]*900]*900]*900 }}",
        "{{ [[[1.0]*900]*900]*900 is eq [[[1]*900]*900]*900 }}",
        "{{ [[1.0]*900]*900 in [[[1]*900]*900]*900 }}",
        "{{ [[[1.0]*900]*900]*900 < [[[1]*900]*900]*900 }}",
        "{{ [" + "'a'*99999," * 1500 + "] | length }}",
        "{{ [" + "[0]*9999," * 1500 + "] | length }}",
        "{{ [" + "context.state.many[:9999]," * 700 + "] | length }}",
        "{{ [" + "context.result[:99999]," * 800 + "] | length }}",
        "{{ [" + "context.result | upper," * 800 + "] | length }}",
        "{% for n in context.state.list if ([[0]*9999]*99) | string %}{% endfor %}",
    ],
    "render-too-large": [
        "{{ ([['a'*1000]*1000]*1000) | join }}",
        "{{ ([([0]*9000)]*900) | join(', ') }}",
        "{{ ['a'*60000]*2 }}",
        "{{ (['a'*60000]*2) | string }}",
        "{{ (['a'*60000]*2) | tojson }}",
        "{{ (['a'*60000]*2) | join }}",
        "{{ ['a'*60000] ~ ['a'*60000] }}",
        "{{ ['a', 'a', 'a'] | join('b'*60000) }}",
        "{{ [context.result] }}",
        "{{ [0] * 10001 }}",
        "{{ context.state.many[1:] }}",
        "{{ context.result[1:] | length }}",
        "{{ 'x' * 10**30 }}",
    ],
    "render-undefined": ["{{ context[[['a'*1000]*1000]*1000] }}"],
    "render-arithmetic": ["{{ 2.0 ** 5000 }}", "{{ 1e308 * 10 ** 400 }}"],
}


def test_a_hostile_template_is_refused_or_ends_in_an_error(tmp_path):
    endings = evaluated("templates", HOSTILE, tmp_path)

    assert [t[:50] for t, (_, end) in zip(HOSTILE, endings, strict=True) if end == "value"] == []
    assert max(seconds for seconds, _ in endings) < 3


def test_what_grows_is_stopped_for_the_right_reason(tmp_path):
    """Whatever nests, repeats or prints values is charged before it is made."""
    wanted = [(text, code) for code, texts in GROWING.items() for text in texts]
    endings = evaluated("templates", [text for text, _ in wanted], tmp_path)

    assert wanted == [(text, end) for (text, _), (_, end) in zip(wanted, endings, strict=True)]
    assert max(seconds for seconds, _ in endings) < 3


def test_a_loop_is_bounded():
    values = {"context": {"state": {"list": list(range(MAX_LOOP_ITEMS + 1))}}}

    assert (
        failing("{% for n in context.state.list %}{{ n }}{% endfor %}", values).code
        == "render-too-large"
    )
    assert (
        render("{% for n in context.state.list[1:] %}.{% endfor %}", values) == "." * MAX_LOOP_ITEMS
    )


@pytest.mark.parametrize(
    "body",
    [
        "{% if context.result is eq 'y' %}{% endif %}" * 300,
        "{% if 'y' in context.result %}{% endif %}" * 300,
        "{% if context.result | upper == 'y' %}{% endif %}" * 300,
        "{% if context.result | replace('q', 'r') | length == 3 %}{% endif %}" * 200,
        "{{ '' if 1 else 2 }}" * 900,
        "{{ context.result[:99999] | title | length }}",
        "{{ context.result | trim(context.result) }}",
        "{{ context.result | trim('wx' * 100) }}",
    ],
)
def test_the_steps_of_a_rendering_are_bounded(body):
    values = {"context": {"state": {"list": [1] * MAX_LOOP_ITEMS}, "result": "x" * 1_000_000}}
    template = load("{% for n in context.state.list %}" + body + "{% endfor %}")

    def fail():
        with pytest.raises(RenderError) as caught:
            template.render(values)
        assert caught.value.code in {"render-budget", "render-too-large"}

    fail()  # compiles the template
    # A step that costs too little for its long text is repeated much more often.
    steps_of(fail, most=50_000)


def test_asking_for_what_is_missing_costs_no_suggestions():
    names = {f"key_{n}_" + "abcdefghij" * 5: n for n in range(20)}
    values = {"context": {"state": {"list": [names] * 100}}}
    body = "{{ '' if n.key_abcdefghijabcdefghijabcdefghij is defined else '' }}" * 100
    template = load("{% for n in context.state.list %}" + body + "{% endfor %}")
    shown = []
    steps_of(lambda: shown.append(template.render(values)), most=1_000_000)

    assert shown == [""]


def test_the_test_of_a_loop_is_a_step_of_each_round():
    values = {"context": {"state": {"list": [1] * MAX_LOOP_ITEMS}}}
    test = " and ".join(["n == 2"] * 40)
    text = "{% for n in context.state.list if " + test + " %}{% endfor %}"

    assert failing(text * 2, values).code == "render-budget"


@pytest.mark.parametrize("value", [object(), {1, 2}, b"x", print, jinja2, type])
def test_only_plain_values_are_shown(value):
    values = {"context": {"state": {"x": value}}}
    for text in (
        "{{ context.state.x }}",
        "{{ context.state.x.name }}",
        "{{ context.state.x | string }}",
    ):
        assert failing(text, values).code == "render-type"


def test_deep_values_end_in_an_error():
    deep = []
    for _ in range(100_000):
        deep = [deep]

    assert failing("{{ context.state }}", {"context": {"state": deep}}).code == "render-too-large"
    while deep:  # taking it apart at once would be too deep for Python
        deep = deep.pop()


def test_the_steps_of_loading_grow_with_the_text_not_with_its_square():
    unit = "{{ context.turn.number }} "
    most = MAX_TEMPLATE_CHARS // len(unit)

    assert growth(lambda count: load(unit * count), most // 2) < 2.5
    assert load(unit * most).render(VALUES).startswith("7 7 ")


def test_the_filters_and_tests_are_a_closed_list():
    assert sorted(FILTERS) == [
        "abs",
        "count",
        "d",
        "default",
        "first",
        "float",
        "int",
        "join",
        "last",
        "length",
        "lower",
        "replace",
        "round",
        "string",
        "title",
        "tojson",
        "trim",
        "truncate",
        "upper",
    ]
    assert sorted(TESTS) == [
        "boolean",
        "defined",
        "divisibleby",
        "eq",
        "equalto",
        "even",
        "false",
        "ge",
        "greaterthan",
        "gt",
        "le",
        "lessthan",
        "lt",
        "mapping",
        "ne",
        "none",
        "number",
        "odd",
        "sequence",
        "string",
        "true",
        "undefined",
    ]


# --- examples and properties ------------------------------------------------------------------------


@pytest.mark.parametrize("code", ALL_CODES, ids=lambda code: code.name)
def test_the_example_of_each_code_provokes_it(code):
    seen = set()
    try:
        template = load(code.example.text)
        seen.update(each.code for each in template.warnings)
        template.render(json.loads(code.example.facts))
    except LoadError as refusal:
        seen.update(each.code for each in refusal.diagnostics)
    except RenderError as failure:
        seen.add(failure.code)
    assert code.name in seen


_pieces = st.sampled_from(
    [
        "{{",
        "}}",
        "{%",
        "%}",
        "{%-",
        "-%}",
        "{#",
        "#}",
        "if",
        "for",
        "in",
        "endif",
        "endfor",
        "else",
        "context",
        ".turn",
        ".number",
        "[0]",
        "['a']",
        "(",
        ")",
        "|",
        "upper",
        "default",
        "'x'",
        '"',
        "~",
        "+",
        "*",
        "**",
        "%",
        "==",
        "<",
        "not",
        "and",
        "is",
        "defined",
        "loop",
        ".index",
        "range",
        "7",
        "1e9",
        "__class__",
        "raw",
        "endraw",
        "\n",
        "\r\n",
        "é",
        "😀",
        "\\",
        "$",
        ",",
        ":",
        "=",
        "set",
    ]
)


@settings(deadline=None, max_examples=500)
@given(st.lists(_pieces, max_size=25).map(" ".join) | st.text(max_size=40))
def test_any_text_is_refused_with_a_place_or_renders_or_fails_cleanly(text):
    source = SourceFile("rule.toml", "é\r\n" + text)
    findings = []
    try:
        template = load_template(source, Span(3, len(source.text)), NAMES)
        findings = [*template.warnings]
        template.render(VALUES)
    except LoadError as refusal:
        findings = refusal.diagnostics
        said = bool(findings)
    except RenderError as failure:
        said = bool(failure.message)
    else:
        said = True
    assert said
    for found in findings:
        assert 3 <= found.span.start <= found.span.end <= len(source.text)
        assert found.headline
        assert "\n" not in found.headline


_values = st.recursive(
    st.sampled_from(
        [
            "1",
            "2.5",
            "-3",
            "0",
            "'ab'",
            "''",
            "none",
            "true",
            "[1, 2]",
            "context.turn.number",
            "context.user.id",
            "context.state.list",
            "context.state.gone",
        ]
    ),
    lambda inner: st.one_of(
        st.tuples(
            inner,
            st.sampled_from(["+", "-", "*", "/", "//", "%", "~", "==", "<", "in", "and", "or"]),
            inner,
        ).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(
            inner,
            st.sampled_from(
                [*(set(FILTERS) - {"replace", "tojson"}), "replace('a', 'b')", "join('-')"]
            ),
        ).map(lambda parts: f"({parts[0]} | {parts[1]})"),
        st.tuples(
            inner, st.sampled_from(["defined", "none", "number", "string", "even", "sequence"])
        ).map(lambda parts: f"({parts[0]} is {parts[1]})"),
        st.tuples(inner, st.sampled_from(["[0]", "[-1]", "[1:]", "['ab']"])).map("".join),
        st.tuples(inner, inner, inner).map(
            lambda parts: f"({parts[0]} if {parts[1]} else {parts[2]})"
        ),
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=400)
@given(_values)
def test_a_value_is_what_jinja_prints_or_an_error(expression):
    text = f"[{{{{ {expression} }}}}]"
    try:
        ours = render(text)
    except (LoadError, RenderError):
        return
    plain = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # Jinja's code subscripts numbers

        assert ours == plain.from_string(text).render(VALUES)


NULL_BELOW = TemplateNames(NAMES.shapes, frozenset({("context", "state")}))


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("{{ context.state.never }} {{ context.state['never'] is none }}", "None True"),
        ("{{ context.state[context.user.id] }} {{ context['state'].never }}", "None None"),
        (
            "{{ context.state.never | default('x') }} {{ context.state.never is defined }}",
            "x False",
        ),
        ("{{ context.state.items }} {{ context.state.list[1:] }}", "3 [2, 3]"),
        ("{{ 'never' in context.state }} {{ context.state | length }}", "False 5"),
        ("{{ [context.state.list, context.state.never] | tojson }}", "[[1, 2, 3], null]"),
    ],
)
def test_a_key_below_some_paths_is_null_when_it_is_missing(text, rendered):
    assert load(text, NULL_BELOW).render(VALUES) == rendered


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{{ context.state.never.deeper }}", codes.RENDER_UNDEFINED),
        ("{{ context.state._own }}", codes.RENDER_PRIVATE),
        ("{{ context.user.never }}", codes.RENDER_UNDEFINED),
        ("{{ context.state.never + 1 }}", codes.RENDER_TYPE),
    ],
)
def test_nothing_else_becomes_null(text, code):
    with pytest.raises(RenderError) as caught:
        load(text, NULL_BELOW).render(VALUES)

    assert caught.value.code == code.name
