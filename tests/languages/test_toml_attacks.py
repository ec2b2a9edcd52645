"""Rule files that try to get out, to grow, to hang, or to spoil others: each ends for its reason.

Every name says where the attack comes from: an advisory or issue of simpleeval or Jinja (their
numbers), a well-known trick, or `found here`. An attack is a real file between two honest ones,
which are asked before and behind it and must not notice; no process is started, no file made.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from attacking import (
    FACTS,
    HISTORY,
    HOOKS,
    HOSTILE,
    as_bytes,
    assert_refused,
    log,
    outcome,
    put,
    rule,
    text,
    within,
    witness,
)

import bylaw

WATCH = Path(__file__).parent.parent / "watch.py"
TOUCH = "__import__('os').system('touch owned')"

CONDITIONS = {
    # --- ways out
    "simpleeval 15: globals of a function": ("len.func_globals == 1", "unknown-name"),
    "simpleeval 15: globals of a method": ("'a'.upper.__globals__ == 1", "private-name"),
    "simpleeval 138: frame of a generator": (
        "(x for x in [1]).gi_frame.f_globals['__builtins__'].exec('1') == 1",
        "unknown-method",
    ),
    "simpleeval 138: code of a coroutine": (
        "[x for x in [1]].cr_frame.f_back == 1",
        "guard-type",
    ),
    "simpleeval CVE-2026-32640: a module behind an attribute": (
        "context.turn.os.system('touch owned') == 0",
        "unknown-attribute",
    ),
    "simpleeval CVE-2026-32640: a dangerous function as a value": (
        "[f for f in [eval, exec]][0]('1') == 1",
        "unsupported-syntax",
    ),
    "simpleeval CVE-2026-32640: a callback that is handed in": (
        "sorted([1], key=eval) == [1]",
        "wrong-arguments",
    ),
    "simpleeval 1.0.8: a function of operator": (
        "operator.attrgetter('__class__')(1) == 1",
        "unsupported-syntax",
    ),
    "simpleeval 1.0.8: a function of os": ("os.popen('id').read() == ''", "unknown-name"),
    "simpleeval 1.0.8: a set that nobody looks into": (
        "{eval for x in [1]} == {1}",
        "unknown-name",
    ),
    "simpleeval 1.0.8: rand": ("rand() < 2", "unknown-function"),
    "class of a constant": ("True.__class__ == 1", "private-name"),
    "class of an empty text": (
        "''.__class__.__mro__[1].__subclasses__() == []",
        "private-name",
    ),
    "class through a subscript": ("context['__class__'] == 1", "unknown-attribute"),
    "class through a key of a map": ("{}.get('__class__') == 1", None),
    "class through the state": ("context.state.__class__ == 1", "private-name"),
    "class through a loop variable": (
        "any(t.__class__ == 1 for t in context.history.tools)",
        "private-name",
    ),
    "a loop variable that is private": ("[_ for _ in [1]] == [1]", "private-name"),
    "a loop variable that shadows the context": (
        "[context for context in [1]][0].turn == 1",
        "guard-type",
    ),
    "comprehension scoping: a name that leaks": ("[x for x in [1]] == [x]", "unknown-name"),
    "getattr": ("getattr(context, 'turn') == 1", "unknown-function"),
    "import": (TOUCH + " == 0", "unknown-function"),
    "import in a format": (f'f"{{{TOUCH}}}" == 0', "unknown-function"),
    "type with three arguments": ("type('X', (), {})() == 1", "unsupported-syntax"),
    "breakpoint": ("breakpoint() == 1", "unknown-function"),
    "open": ("open('/etc/passwd').read() == ''", "unknown-function"),
    "a name of the compiled code": ("t1 == 1", "unknown-name"),
    "a name of the runtime": ("Budget(0) == 1", "unknown-function"),
    "a field of the view": ("v.context == 1", "unknown-name"),
    "a literal that looks like code": ('"v.context); import os #" == 1', None),
    "full-width letters": ("context.ｔurn.__ｃlass__ == 1", "private-name"),
    "full-width underscores": ("context.＿＿class＿＿ == 1", "expression-syntax"),
    "format specs: str.format": ("'{0.__class__}'.format(1) == ''", "unknown-method"),
    "format specs: format_map": ("'{a}'.format_map({'a': 1}) == ''", "unknown-method"),
    "format specs: f-string": ("f'{1:>400000000}' == ''", "unsupported-syntax"),
    "format specs: conversion": ("f'{context!r}' == ''", "unsupported-syntax"),
    "format specs: percent": ("'%400000000d' % 1 == ''", "guard-type"),
    "lambda": ("(lambda: 1)() == 1", "unsupported-syntax"),
    "walrus": ("(x := 1) == 1", "unsupported-syntax"),
    "star arguments": ("max(*[1, 2]) == 2", "unsupported-syntax"),
    "star keywords": ("int(**{'x': 1}) == 1", "unsupported-syntax"),
    "await": ("(await context) == 1", "unsupported-syntax"),
    "yield": ("(yield 1) == 1", "unsupported-syntax"),
    "assignment instead of a comparison": ("context.turn.number = 1", "assignment"),
    "a second statement": ("True; " + TOUCH, "several-expressions"),
    "a second line": ("True\n" + TOUCH, "several-expressions"),
    # --- changing what others see
    "mutation: append": ("context.history.messages.append(1) is None", "unknown-method"),
    "mutation: update": ("context.state.update({'a': 1}) is None", "unknown-method"),
    "mutation: clear": ("context.history.failures.clear() is None", "unknown-method"),
    "mutation: pop": ("context.user.settings.pop('a') is None", "unknown-method"),
    "mutation: setdefault": ("context.state.setdefault('a', 1) == 1", "unknown-method"),
    "mutation: sort": ("context.history.tools.sort() is None", "unknown-method"),
    "mutation: a comprehension into the state": (
        "{**context.state, 'a': 1} == 1",
        "unsupported-syntax",
    ),
    # --- growth
    "powers: a tower": ("9 ** 9 ** 9 > 1", "guard-too-large"),
    "powers: in a sum": ("sum([9 ** 999] * 9999) ** 9 > 1", "guard-too-large"),
    "powers: a negative base": ("(-8) ** 0.5 == 1", "guard-arithmetic"),
    "texts: multiplied": ("'a' * 10 ** 9 == ''", "guard-too-large"),
    "texts: joined": ("('a' * 9999).join(['b'] * 9999) == ''", "guard-too-large"),
    "texts: replaced": ("('a' * 99999).replace('', 'b' * 99) == ''", "guard-too-large"),
    "texts: upper case that grows": ("('ﬃ' * 99999).upper() == ''", "guard-too-large"),
    "lists: multiplied": ("[0] * 10 ** 9 == []", "guard-too-large"),
    "lists: in lists": ("[[0] * 9999] * 9999 == []", "guard-budget"),
    "lists: shared parts": (
        "[d for a in [[1] * 99] for b in [[a] * 99] for c in [[b] * 99] for d in [[c] * 99]] == []",
        "guard-budget",
    ),
    "comprehensions: nested": (
        "[1 for a in 'x' * 999 for b in 'x' * 999 for c in 'x' * 999] == []",
        "guard-budget",
    ),
    "comprehensions: very many": (
        "[x " + "for x in [1] " * 30 + "] == []",
        "expression-too-deep",
    ),
    "a quadratic `in` of texts": (
        "any('a' * 49000 + 'b' + 'a' * 49000 in 'a' * 99999 for x in 'x' * 9999)",
        "guard-budget",
    ),
    "a quadratic `in` of lists": (
        "any(x in [y for y in 'ab' * 4999] for x in 'c' * 9999)",
        "guard-budget",
    ),
    "digits that take quadratic time": ("int('9' * 99999) > 1", "guard-too-large"),
    "a literal that takes quadratic time": ("9" * 7000 + " > 1", "malformed-number"),
    "nesting: brackets": ("(" * 250 + "1" + ")" * 250, "expression-too-deep"),
    "nesting: not": ("not " * 1500 + "True", "expression-too-deep"),
    "nesting: a chain": ("1" + " + 1" * 1500 + " == 1", "expression-too-deep"),
    "an expression without an end": ("True" + " and True" * 1_000, "expression-too-long"),
    "an infinite number": ("1e999 > 1", "malformed-number"),
    "not a boolean": ("context.turn.number", "guard-not-boolean"),
    "NUL": ("'\0' == 1", "expression-syntax"),
    "found here: half a character": (r"int('\ud800') == 1", "expression-syntax"),
    "found here: Python warns of it": ("0 is None", None),
    "found here: a list of constants within a chain": ("1 in [1] == 1", None),
}
LONG = {"kind": "prompt", "text": "a" * 5_000_000, "facts": {"user": {"id": "a" * 5_000_000}}}
LONG_CONDITIONS = {
    "found here: two long texts that are equal": (
        "any(context.event.payload.query != context.user.id for x in 'x' * 9999)",
        "guard-budget",
    ),
    "found here: two long texts in order": (
        "any(context.event.payload.query < context.user.id for x in 'x' * 9999)",
        "guard-budget",
    ),
    "found here: a long key": (
        "any({context.event.payload.query: 1}[context.user.id] == 2 for x in 'x' * 9999)",
        "guard-budget",
    ),
    "found here: a set of long texts": (
        "len({context.user.id if x else context.event.payload.query for x in [0, 1] * 999}) > 1",
        "guard-budget",
    ),
    "found here: the name of a tool that is long": (
        "any(tool_completed(context.user.id) for x in 'x' * 9999)",
        "guard-budget",
    ),
    "found here: a long text in many parts": (
        "len(context.user.id.split('a')) == 0",
        "guard-too-large",
    ),
}
TEMPLATES = {
    # --- ways out
    "Jinja CVE-2016-10745: str.format": (
        "{{ '{a.__class__}'.format(a=42) }}",
        "template-forbidden",
    ),
    "Jinja CVE-2019-10906: str.format_map": (
        "{{ '{a.__class__}'.format_map({'a': 42}) }}",
        "template-forbidden",
    ),
    "Jinja CVE-2024-56201: a file name that is compiled": (
        "{% include \"x'; import os; '\" %}",
        "template-forbidden",
    ),
    "Jinja CVE-2024-56326: a stored reference to format": (
        "{% set f = '{a.__class__}'.format %}{{ f(a=1) }}",
        "template-forbidden",
    ),
    "Jinja CVE-2024-56326: a filter that calls it": (
        "{{ ['{0.__class__}'.format] | map('string') }}",
        "template-unknown-filter",
    ),
    "Jinja CVE-2025-27516: the filter attr": (
        "{{ ('{a.__class__}' | attr('format'))(a=1) }}",
        "template-forbidden",
    ),
    "the filter attr alone": (
        "{{ context | attr('__class__') }}",
        "template-unknown-filter",
    ),
    "the filter map with an attribute": (
        "{{ context.history.tools | map(attribute='__class__') | list }}",
        "template-unknown-filter",
    ),
    "the filter format": ("{{ '%s' | format(context) }}", "template-unknown-filter"),
    "the filter xmlattr": ("{{ {'a': 1} | xmlattr }}", "template-unknown-filter"),
    "the filter selectattr": (
        "{{ context.history.tools | selectattr('__init__') }}",
        "template-unknown-filter",
    ),
    "the attribute of join": (
        "{{ context.history.tools | join(',', '__class__') }}",
        "render-undefined",
    ),
    "class of a text": ("{{ ''.__class__.__mro__ }}", "render-private"),
    "class through a subscript": ("{{ ''['__class__'] }}", "render-undefined"),
    "class through a subscript that is put together": (
        "{{ context['__cl' ~ 'ass__'] }}",
        "render-undefined",
    ),
    "class that is asked for": ("{{ context.__class__ is defined }}", "render-private"),
    "cycler": ("{{ cycler.__init__.__globals__.os }}", "template-unknown-name"),
    "lipsum": ("{{ lipsum.__globals__['os'].popen('id').read() }}", "template-forbidden"),
    "joiner": ("{{ joiner() }}", "template-forbidden"),
    "namespace": ("{% set n = namespace(a=1) %}{{ n.a }}", "template-forbidden"),
    "self": ("{{ self._TemplateReference__context }}", "template-unknown-name"),
    "range": ("{% for i in range(10 ** 9) %}x{% endfor %}", "template-loop"),
    "dict": ("{{ dict(a=1) }}", "template-forbidden"),
    "a call of a filter": ("{{ (context.turn.number | string)() }}", "template-forbidden"),
    "a method that mutates": ("{{ context.state.update({'a': 1}) }}", "template-forbidden"),
    "include": ("{% include '/etc/passwd' %}", "template-forbidden"),
    "import": ("{% import 'os' as os %}{{ os }}", "template-forbidden"),
    "from": ("{% from 'os' import system %}{{ system }}", "template-forbidden"),
    "extends": ("{% extends 'x' %}", "template-forbidden"),
    "block": ("{% block a %}{% endblock %}", "template-forbidden"),
    "macro": ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "template-forbidden"),
    "call": ("{% call x() %}{% endcall %}", "template-forbidden"),
    "set": ("{% set context = 1 %}", "template-forbidden"),
    "do": ("{% do context.state.clear() %}", "template-syntax"),
    "a loop that calls itself": (
        "{% for t in context.history.tools recursive %}{{ loop([t]) }}{% endfor %}",
        "template-loop",
    ),
    "a loop in a loop": (
        "{% for a in context.history.tools %}" * 2 + "{% endfor %}" * 2,
        "template-loop",
    ),
    "what a loop knows of itself": (
        "{% for t in context.history.tools %}{{ loop._iterator }}{% endfor %}",
        "render-private",
    ),
    "found here: a loop variable called loop": (
        "{% for loop in context.history.tools %}{{ loop }}{% endfor %}",
        "template-loop",
    ),
    "star arguments": ("{{ 'a' | replace(*['a', 'b']) }}", "template-forbidden"),
    # --- growth
    "the filter center": ("{{ 'a' | center(10 ** 9) }}", "template-unknown-filter"),
    "the filter indent": ("{{ 'a' | indent(10 ** 9) }}", "template-unknown-filter"),
    "the filter batch": ("{{ [1] | batch(10 ** 9, 0) | list }}", "template-unknown-filter"),
    "the filter round": ("{{ 1.5 | round(10 ** 9) }}", "render-too-large"),
    "the filter replace": ("{{ ('a' * 9999) | replace('a', 'b' * 9999) }}", "render-too-large"),
    "the filter tojson": ("{{ ([['a' * 1000] * 1000] * 1000) | tojson }}", "render-budget"),
    "powers": ("{{ 9 ** (9 ** 9) }}", "render-too-large"),
    "texts: multiplied": ("{{ 'a' * 10 ** 9 }}", "render-too-large"),
    "texts: joined": ("{{ ('a' * 60000) ~ ('b' * 60000) }}", "render-too-large"),
    "lists: in lists": ("{{ [[[0] * 999] * 999] * 999 }}", "render-budget"),
    "lists: compared": (
        "{{ [[[1.0] * 900] * 900] * 900 == [[[1] * 900] * 900] * 900 }}",
        "render-budget",
    ),
    "nesting": ("{{ " + "[" * 500 + "]" * 500 + " }}", "template-too-deep"),
    "a template without an end": ("{{ 1 }}" * 5_000, "template-too-long"),
    "an output without an end": ("{{ 'a' * 60000 }}" * 2, "render-too-large"),
    "percent": ("{{ '%0999999999d' % 1 }}", "render-type"),
    "found here: one tag of very many parts that fails": (
        "{{ " + "context.turn.number ~ " * 800 + "(1 // 0) }}",
        "render-arithmetic",
    ),
    "found here: half a character": (r"{{ '\ud800' }}", "template-syntax"),
    # --- strict
    "an undefined name that prints nothing": ("{{ context.nope }}", "render-undefined"),
    "an undefined name below one": ("{{ context.turn.nope.nope }}", "render-undefined"),
    "nobody": ("for {{ context.project.id }}", "render-undefined"),
}
LONG_TEMPLATES = {
    "found here: the filter trim with long characters": (
        "{{ context.event.payload.query | trim('b' * 9999 ~ 'a') }}",
        "render-budget",
    ),
    "found here: the filter title": (
        "{{ context.event.payload.query | title | length }}",
        "render-too-large",
    ),
    "a long text that is printed": ("{{ context.event.payload.query }}", "render-too-large"),
}


@pytest.mark.parametrize(("when", "code"), CONDITIONS.values(), ids=CONDITIONS)
def test_conditions(tmp_path, when, code):
    put(tmp_path, rule(when=when, action=log("I was here")))
    found = outcome(tmp_path)

    if code is None:  # harmless: it is false, and nothing is said of it
        assert (found.codes, found.effects) == ([], [])
        assert len(found.statements) == 2
    else:
        assert_refused(found, code)


@pytest.mark.parametrize(("when", "code"), LONG_CONDITIONS.values(), ids=LONG_CONDITIONS)
def test_conditions_on_a_long_event(tmp_path, when, code):
    put(tmp_path, rule(when=when, on="on_query_start"), "on_query_start")

    assert_refused(outcome(tmp_path, event=LONG), code)


@pytest.mark.parametrize(("message", "code"), TEMPLATES.values(), ids=TEMPLATES)
@pytest.mark.parametrize("action", ["notify_self", "set_state", "emit_event"])
def test_templates(tmp_path, message, code, action):
    put(tmp_path, rule(action=doing(action, message)))
    found = outcome(tmp_path)

    assert_refused(found, code)
    assert found.engine.state["variables"] == {}
    assert found.engine.state["notices"] == 0


def doing(action, message):
    """Each action with a template in the place where it takes one."""
    return {
        "notify_self": f'type = "notify_self"\nmessage = {text(message)}',
        "set_state": f'type = "set_state"\nkey = "k"\nvalue = {text(message)}',
        "emit_event": f'type = "emit_event"\nevent_type = "e"\npayload = {{ a = [{{ b = {text(message)} }}] }}',
    }[action]


@pytest.mark.parametrize(("message", "code"), LONG_TEMPLATES.values(), ids=LONG_TEMPLATES)
def test_templates_on_a_long_event(tmp_path, message, code):
    put(tmp_path, rule(action=log(message), on="on_query_start"), "on_query_start")

    assert_refused(outcome(tmp_path, event=LONG), code)


def test_a_loop_over_what_is_missing_takes_no_time(tmp_path):
    """Found here: a suggestion was made for every key that is not there."""
    names = {f"key_{n}_" + "abcdefghij" * 5: n for n in range(20)}
    calls = [{"kind": "tool.after", "tool": "t", "status": "ok", "args": names}] * 100
    asked = "{{ '' if t.arguments.key_abcdefghijabcdefghij is defined else '' }}" * 80
    message = "{% for t in context.history.tools %}" + asked + "{% endfor %}"
    put(tmp_path, rule(action=log(message), on="on_turn_start"))
    found = outcome(tmp_path, on="on_turn_start", history=calls)

    assert found.codes == []
    assert [step.text for step in found.effects] == [""]


def test_very_many_files_of_one_id(tmp_path):
    """Found here: each of them named all the others."""
    for number in range(1_000):
        folder = tmp_path / f"f{number}"
        folder.mkdir()
        (folder / "same.toml").write_text(rule("same"))
    with within():
        library = bylaw.load(tmp_path.iterdir())

    assert {one.code for one in library.diagnostics} == {"duplicate-rule-id"}
    assert all(one.headline.endswith(" and 996 more") for one in library.diagnostics)


@pytest.mark.parametrize("name", [b"\xff\xfe", b"a\nb", b"\x1b[2J", "\u202e".encode(), b"\\u{a}"])
def test_a_file_with_a_name_that_is_no_text(tmp_path, name, monkeypatch):
    """Found here: one such name in a folder, and nothing could be recorded any more."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "rules", rule())
    os.close(os.open(os.fsencode(tmp_path) + b"/rules/" + name + b".toml", os.O_CREAT))
    with bylaw.Engine(bylaw.load("rules"), tmp_path / "journal.db") as engine:
        reply = engine.submit(HOOKS["on_tool_complete"])

    assert (reply.verdict, reply.answer.problem) == (bylaw.Verdict.WARN, "")
    assert [plan.rule for plan in reply.answer.decision.plans] == ["before", HOSTILE, "behind"]
    (reason,) = reply.reasons
    assert reason.text.isprintable()


INJECTED = "{{ 7 * 7 }}{% for x in y %}{{ context.__class__ }}"


class TestInjection:
    """What comes from outside is text, however often it is printed (TR-097, TR-A29)."""

    def test_of_a_user(self, tmp_path):
        put(tmp_path, rule(action=log("for {{ context.user.id }}")))
        event = {**HOOKS["on_tool_complete"], "facts": {"user": {"id": INJECTED}}}

        assert outcome(tmp_path, event=event).effects[0].text == "for " + INJECTED

    def test_of_a_tool(self, tmp_path):
        put(tmp_path, rule(action=log("{{ context.result.result }}")))
        event = {**HOOKS["on_tool_complete"], "result": INJECTED}

        assert outcome(tmp_path, event=event).effects[0].text == INJECTED

    def test_of_the_state(self, tmp_path):
        """A value that was rendered is rendered no second time when another rule prints it."""
        put(tmp_path, rule(action=log("{{ context.state.k }} {{ context.state }}")))
        (tmp_path / "sets.toml").write_text(
            rule("sets", action=doing("set_state", "{{ context.result.result }}"), priority=500)
        )
        event = {**HOOKS["on_tool_complete"], "result": "{{ 7 * 7 }}"}

        (step,) = outcome(tmp_path, event=event).effects
        assert step.text == "{{ 7 * 7 }} {'k': '{{ 7 * 7 }}'}"

    def test_of_a_notice_that_becomes_a_message(self, tmp_path):
        put(tmp_path, rule(action=log("{{ context.history.messages[-1].content }}")))
        notify = doing("notify_self", "{{ context.result.result }}") + '\ndeliver_at = "immediate"'
        (tmp_path / "notifies.toml").write_text(rule("notifies", action=notify))
        event = {**HOOKS["on_tool_complete"], "result": INJECTED}
        found = outcome(tmp_path, history=[event])

        assert found.engine.session.history.messages[-1].content == "done"
        assert found.effects[0].text == INJECTED

    def test_of_keys_and_of_the_type_of_an_event(self, tmp_path):
        action = (
            'type = "emit_event"\nevent_type = "{{ 1 }}"\n'
            'payload = { "{{ 2 }}" = "{{ 3 }}", "{% if %}" = { "__class__" = 4 } }'
        )
        put(tmp_path, rule(action=action))
        (step,) = outcome(tmp_path).effects

        assert (step.type, step.payload) == (
            "{{ 1 }}",
            {"{{ 2 }}": "3", "{% if %}": {"__class__": 4}},
        )

    def test_of_the_key_of_a_state(self, tmp_path):
        put(tmp_path, rule(action='type = "set_state"\nkey = "{{ 1 }}"\nvalue = "{{ 2 }}"'))
        engine = outcome(tmp_path).engine

        assert engine.state["variables"] == {"toml:": {"{{ 1 }}": "2"}}

    def test_of_the_name_of_a_plugin(self, tmp_path):
        """It stands in code that reads the state."""
        plugin = "'); import os; ('"
        text_ = rule(when="context.state.k is None", action=doing("set_state", "x"))
        put(tmp_path, text_.replace("[condition]", f"plugin_id = {text(plugin)}\n[condition]", 1))
        engine = outcome(tmp_path).engine

        assert engine.state["variables"] == {f"toml:{plugin}": {"k": "x"}}


def state(value):
    return rule(action=f'type = "set_state"\nkey = "k"\nvalue = {value}')


def payload(value):
    return rule(action=f'type = "emit_event"\nevent_type = "e"\npayload = {value}')


FILES = {
    "10^5 dotted keys": (".".join("a" * 100_000) + " = 1\n", "toml-too-large"),
    "many dotted keys": (
        "".join(f"k{n}." + ".".join("a" * 98) + " = 1\n" for n in range(400)),
        "unknown-key",
    ),
    "found here: dotted keys with escapes": (
        rule() + ".".join([r'"\""'] * 40_000) + " = 1\n",
        "toml-too-large",
    ),
    "found here: dotted keys with long parts": (
        rule() + ".".join(["a" * 65] * 3_000) + " = 1\n",
        "toml-too-large",
    ),
    "found here: a header and keys below it": (
        rule() + "[" + ".".join("a" * 99) + "]\n" + ".".join("b" * 99) + " = 1\n",
        "toml-too-large",
    ),
    "arrays without an end": ("a = " + "[" * 100_000, "toml-syntax"),
    "deep arrays": (state("[" * 20_000 + "]" * 20_000), "toml-syntax"),
    "found here: arrays as deep as can be read": (state("[" * 300 + "]" * 300), "toml-too-large"),
    "found here: tables as deep as can be read": (
        payload("{a=" * 250 + '"{{ 1 }}"' + "}" * 250),
        "toml-too-large",
    ),
    "found here: deep values in a wrong action": (
        rule(action='type = "set_stat"\nvalue = ' + "[" * 400 + "]" * 400),
        "toml-too-large",
    ),
    "a huge text": (rule(action=log("x" * 300_000)), "toml-too-large"),
    "a huge key": (rule() + "x" * 200_000 + " = 1\n", "unknown-key"),
    "a huge value of a choice": (rule(action=f'type = "{"x" * 200_000}"'), "not-a-choice"),
    "a huge id": (rule("x" * 200_000 + "!"), "bad-rule-id"),
    "a huge version": (
        rule().replace("[condition]", f'version = "1.0.0-{"1" * 100_000}!"\n[condition]', 1),
        "bad-version",
    ),
    "very many keys": (rule() + "".join(f"k{n} = 1\n" for n in range(20_000)), "unknown-key"),
    "very many tables": (rule() + "[[a]]\n" * 30_000, "unknown-key"),
    "very many wrong numbers": (state("[" + "inf," * 30_000 + "]"), "wrong-value"),
    "found here: very many templates": (
        payload("{ a = [" + '"{{ 1 }}",' * 20_000 + "] }"),
        "wrong-value",
    ),
    "found here: templates that grow together": (
        payload("{ a = [" + "\"{{ 'a' * 60000 }}\"," * 100 + "] }"),
        "render-too-large",
    ),
    "found here: templates that take their time together": (
        payload("{ a = [" + '"{{ ([[0] * 99] * 99) | string | length }}",' * 100 + "] }"),
        "render-budget",
    ),
    "very many templates that are wrong": (
        payload("{ a = [" + '"{{ nope }}",' * 100 + "] }"),
        "template-unknown-name",
    ),
    "a key twice": (rule() + "type = 'log'\n", "toml-syntax"),
    "a section twice": (rule() + "[rule]\nid = 'b'\n", "toml-syntax"),
    "a section that is a list": (rule().replace("[rule]", "[[rule]]"), "wrong-value"),
    "sections that are none": ("rule = 1\ncondition = 2\naction = 3\n", "wrong-value"),
    "an infinite state": (state("inf"), "wrong-value"),
    "a state that is no number": (state("[1, { a = nan }]"), "wrong-value"),
    "a state of 2 ** 70": (state(str(2**70)), "wrong-value"),
    "a state of very many digits": (state("9" * 5_000), "toml-syntax"),
    "a state of very many hexadecimal digits": (state("0x" + "f" * 100_000), "wrong-value"),
    "a priority of 2 ** 70": (rule(priority=2**70), "priority-range"),
    "a priority that is true": (rule(priority="true"), "wrong-value"),
    "NUL": (rule() + "# \0\n", "toml-syntax"),
    "NUL in a text": (rule(action='type = "log"\nmessage = "\0"'), "toml-syntax"),
    "a lone carriage return": (rule() + "# a\rb = 1\n", "toml-syntax"),
    "half a character": (
        rule(action=r'type = "log"' + "\n" + r'message = "\ud800"'),
        "toml-syntax",
    ),
    "half a character in bytes": (rule().encode() + b"# \xed\xa0\x80\n", "not-utf8"),
    "not UTF-8": (rule().encode() + b"# \xff\xfe\n", "not-utf8"),
    "UTF-16": (rule().encode("utf-16"), "not-utf8"),
    "an overlong slash": (rule().encode() + b"# \xc0\xaf\n", "not-utf8"),
    "two marks at the beginning": (b"\xef\xbb\xbf\xef\xbb\xbf" + rule().encode(), "toml-syntax"),
    "a script that leads out": (
        rule().replace('expression = "True"', 'script = "../../../../etc/passwd"'),
        "bad-script",
    ),
    "a script that is absolute": (
        rule().replace('expression = "True"', 'script = "/etc/passwd.lua"'),
        "bad-script",
    ),
    "a field of another action": (rule(action='type = "log"\nvalue = "x"'), "foreign-action-field"),
    "an id that is a path": (rule("../../x"), "bad-rule-id"),
    "an id with a line break": (rule(r"a\n"), "bad-rule-id"),
}


@pytest.mark.parametrize(("data", "code"), FILES.values(), ids=FILES)
def test_files(tmp_path, data, code):
    put(tmp_path, data)

    assert_refused(outcome(tmp_path), code)


HARMLESS = {
    "a mark and line ends of Windows": b"\xef\xbb\xbf" + rule().replace("\n", "\r\n").encode(),
    "dates and times": state('[1979-05-27, 07:32:00, 1979-05-27T07:32:00.5Z, "x"]').encode(),
    "texts that move a cursor": rule(action=log("\u202e\x1b[2J\u2028")).encode(),
    "depth that is allowed": state("[" * 90 + "]" * 90).encode(),
    "a payload of many plain texts": payload("{ a = [" + '"x",' * 20_000 + "] }").encode(),
    "keys that are names of Python": payload('{ __class__ = { "" = 1, "a.b" = [] } }').encode(),
}


@pytest.mark.parametrize("data", HARMLESS.values(), ids=HARMLESS)
def test_files_that_only_look_hostile(tmp_path, data):
    put(tmp_path, data)
    found = outcome(tmp_path)

    assert found.codes == []
    assert len(found.effects) == 1
    json.dumps(found.engine.state).encode()


@pytest.mark.parametrize("on", HOOKS)
def test_at_every_hook_the_others_go_on(tmp_path, on):
    """TR-112: an error of a condition, an error of an action, a file that does not load."""
    put(tmp_path, rule(when="1 // 0 == 1", on=on), on)
    action = log("{{ context.state.k.nope }}")
    (tmp_path / "unmade.toml").write_text(rule("unmade", action=action, on=on))
    (tmp_path / "broken.toml").write_text(rule("broken", when="open('x')", on=on))

    assert_refused(outcome(tmp_path, on=on), "guard-arithmetic")


def test_all_of_them_together_in_one_process(tmp_path):
    """`bylaw decide` over one folder: in time, in little memory, to the end; large files left out."""
    rules, report = tmp_path / "rules", tmp_path / "report.json"
    rules.mkdir()
    files = {
        **{f"c{n}": rule(f"c{n}", when=when) for n, (when, _) in numbered(CONDITIONS)},
        **{f"t{n}": rule(f"t{n}", action=log(said)) for n, (said, _) in numbered(TEMPLATES)},
        **{f"f{n}": data for n, (data, _) in numbered(FILES) if len(data) < 50_000},
        "behind": witness("behind", "on_tool_complete", 1),
    }
    for name, data in files.items():
        (rules / f"{name}.toml").write_bytes(as_bytes(data))
    events = [*HISTORY, {**HOOKS["on_tool_complete"], "facts": FACTS}]
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, events)))
    words = ["decide", "--rules", "rules", "--events", "events.jsonl"]
    command = [sys.executable, WATCH, "600", report, sys.executable, "-m", "bylaw", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)

    ended = json.loads(report.read_text())
    assert ended["code"] == 1  # files did not load; a bug of ours would be 3
    assert ended["mebibytes"] < 300
    last = json.loads(done.stdout.splitlines()[-1])
    assert [(one["rule"], one["text"]) for one in last["effects"]] == [
        ("behind", "behind was here")
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"rules", "events.jsonl", "report.json"}


def numbered(attacks):
    return list(enumerate(attacks.values()))


def test_there_are_enough_of_them():
    assert len(CONDITIONS) + len(TEMPLATES) + len(FILES) >= 150
