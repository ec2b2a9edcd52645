"""One entry for each parser: bytes in; nothing out, unless something does not hold.

A target takes any bytes. It may refuse them in the way that its parser documents; whatever else
it raises is a finding. The text of an expression or a pattern may come from an argument, so that
bytes that are not UTF-8 reach the parser as lone surrogates; files must be UTF-8.
"""

import json
import sys
import tomllib
from itertools import pairwise

from chatmd_rules_target import chatmd_rules
from chatmd_target import chatmd
from context_target import context, context_calls
from invariants import check_diagnostics, check_span, refused
from law_target import law, law_commands
from policy_target import policies
from rule_file_target import toml_rules
from views import GUARD_FACTS, condition_facts, facts_source, rich_condition_view, rich_guard_view

from bylaw.expr import template
from bylaw.expr.conditions import parse_condition
from bylaw.expr.expression import load_condition, load_guard
from bylaw.expr.guard_environment import guard_environment
from bylaw.expr.guards import parse_guard
from bylaw.expr.limits import MAX_OUTPUT_CHARS
from bylaw.expr.tree import Const, Text, walk
from bylaw.expr.unparse import print_condition, print_guard
from bylaw.languages.toml import Array, Table, Value, load_toml
from bylaw.languages.yaml import YamlMapping, YamlScalar, YamlSequence, load_yaml
from bylaw.model.codes.expressions import EXPRESSION_TOO_DEEP, EXPRESSION_TOO_LONG
from bylaw.model.errors import GuardError, LoadError, RenderError
from bylaw.model.source import SourceFile, Span
from bylaw.model.wire import EventError, decode_event, encode_event
from bylaw.paths import Pattern, check_resolvable, normalise, pattern
from bylaw.paths.index import PathIndex
from bylaw.report.expression import condition_view, evaluate_expression, guard_view
from bylaw.report.suites.page import CommandStep, FileExpectation
from bylaw.report.suites.reader import read_page
from bylaw.runtime.root import read_settings

GUARD_VIEW = rich_guard_view()
CONDITION_VIEW = rich_condition_view()
GUARDS = guard_environment(GUARD_FACTS["vars"], rule_ids=["rule-1", "rule-2"])
FACTS_SOURCES = {
    "chatmd": facts_source(GUARD_FACTS),
    "toml": facts_source(condition_facts(5)),
}


def as_argument(data):
    """The text of an argument of the command line."""
    return data.decode("utf-8", "surrogateescape")


def whole(text):
    """A text as a source, and the span of all of it."""
    return SourceFile("input", text), Span(0, len(text))


def guards(data):
    """ChatMD guards: load, evaluate, print, read back."""
    text = as_argument(data)
    check_expression(
        refused(load_guard, *whole(text), GUARDS), GUARD_VIEW, parse_guard, print_guard
    )
    check_trial(text, "chatmd")


def conditions(data):
    """TOML conditions: the same."""
    text = as_argument(data)
    loaded = refused(load_condition, *whole(text))
    check_expression(loaded, CONDITION_VIEW, parse_condition, print_condition)
    check_trial(text, "toml")


def check_expression(loaded, view, parse, print_):
    """What loads has a value or an error on a rich view, leaves it alone, and reads back."""
    if loaded is None:
        return
    if loaded.warnings:
        check_diagnostics(loaded.warnings)
    before = repr(view)
    assert outcome(loaded, view) == outcome(loaded, view)
    assert repr(view) == before, "an expression changed what it reads"
    check_reads_back(loaded.tree, parse, print_)


def outcome(loaded, view):
    """The value as text, which tells `1` from `true`, or the error."""
    try:
        return repr(loaded.evaluate(view))
    except GuardError as failed:
        return failed.code, failed.message


def check_reads_back(tree, parse, print_):
    """The printed tree is the same tree, unless printing made it too long or too deep."""
    if any(isinstance(node, Text) and holds_text(node) for node in walk(tree)):
        return
    printed = print_(tree)
    try:
        again = parse(*whole(printed))
    except LoadError as refusal:
        codes = {found.code for found in refusal.diagnostics}
        assert codes <= {EXPRESSION_TOO_LONG.name, EXPRESSION_TOO_DEEP.name}, printed
        return
    assert tree == again, printed
    assert constants(tree) == constants(again), printed


def holds_text(node):
    """Before Python 3.12 not every text can be written inside the braces of another."""
    inside = (part for value in node.parts for part in walk(value) if value is not part)
    texts = (isinstance(part, Text) for part in node.parts)
    return sys.version_info < (3, 12) and (any(texts) or any(map(is_text, inside)))


def is_text(node):
    """Whether it is written in quotes."""
    return isinstance(node, Text) or (isinstance(node, Const) and isinstance(node.value, str))


def constants(tree):
    """`True == 1 == 1.0` in Python: their texts differ."""
    return [repr(node.value) for node in walk(tree) if isinstance(node, Const)]


def check_trial(text, dialect, given=None):
    """The work behind `bylaw expr`."""
    trial = evaluate_expression(text, dialect, given or FACTS_SOURCES[dialect])
    assert trial.answer.keys() in ({"value"}, {"error"})
    json.dumps(trial.answer, allow_nan=False)
    if trial.diagnostics:
        check_diagnostics(trial.diagnostics)


def paths(data):
    """Path patterns: lines of patterns, the last one a path."""
    *lines, path = as_argument(data).split("\n")
    patterns = [found for line in lines[:20] if (found := refused(pattern, line)) is not None]
    for line, found in zip(lines, patterns, strict=False):
        assert len(patterns) < len(lines[:20]) or found.text == line
    candidates = [path, *(found.text for found in patterns)]
    for candidate in candidates:
        normal = normalise(candidate)
        if normal is not None:
            check_match(patterns, normal)
    for one, other in pairwise(patterns):
        if findings := check_resolvable(one, other):
            check_diagnostics(findings)


def check_match(patterns, path):
    """The index finds what matches; captures put back give a pattern that matches."""
    assert normalise(path) == path
    answers = [found.match(path) for found in patterns]
    expected = [number for number, captures in enumerate(answers) if captures is not None]
    assert PathIndex(patterns).matching(path) == expected
    for found, captures in zip(patterns, answers, strict=True):
        if captures is None:
            assert found.literal != path
            continue
        assert captures.keys() == set(found.variables)
        assert all(captures.values())
        check_resolved(found, captures, path)


def check_resolved(found: Pattern, captures, path):
    """A pattern without wildcards gives back the path that it was matched with."""
    resolved = found.resolve(captures)
    assert resolved.match(path) == {}
    if not found.has_wildcards:
        assert resolved.text == path


NAMES = template.TemplateNames(
    {"context": {"turn": {"number": None}, "history": None, "user": None}, "text": None}
)
VALUES = {
    "context": {
        "turn": {"number": 7},
        "history": {"messages": CONDITION_VIEW.context["history"]["messages"], "n": [[1], [2]]},
        "user": {"id": "ü", "_private": 1, "big": 2**80, "f": 1e300},
    },
    "text": "x" * 300,
}


def templates(data):
    """Templates: load, render twice with the same result."""
    loaded = refused(template.load_template, *whole(as_argument(data)), NAMES)
    if loaded is None:
        return
    if loaded.warnings:
        check_diagnostics(loaded.warnings)
    before = repr(VALUES)
    assert rendered(loaded) == rendered(loaded)
    assert repr(VALUES) == before, "a template changed what it reads"


def rendered(loaded):
    """The text, or the error."""
    try:
        text = loaded.render(VALUES)
    except RenderError as failed:
        return failed.code, failed.message
    assert len(text) <= MAX_OUTPUT_CHARS
    return text


def yaml(data):
    """YAML: the same nodes and findings wherever the piece stands in its file."""
    source = refused(SourceFile.decode, "input.yaml", data)
    if source is None:
        return
    node = refused(load_yaml, source)
    if node is not None:
        check_node(node, source, Span(0, len(source.text)))
        node.to_python()
    check_moved(source, node)


def check_node(node, source, outer):
    """Every value lies inside the collection that holds it."""
    check_span(node.span, source)
    assert outer.start <= node.span.start
    assert node.span.end <= outer.end
    match node:
        case YamlSequence(items=items):
            inner = items
        case YamlMapping(pairs=pairs):
            inner = [part for pair in pairs for part in (pair.key, pair.value)]
            assert len({pair.key.value for pair in pairs}) == len(pairs)
        case YamlScalar():
            inner = ()
    for part in inner:
        check_node(part, source, node.span)


def check_moved(source, node):
    """A piece in the middle of a file is read as if it stood alone."""
    before, after = "é\r\n--- [\n", "\n]]\n"
    moved = SourceFile("outer.yaml", before + source.text + after)
    span = Span(len(before), len(before) + len(source.text))
    again = refused(load_yaml, moved, span)
    assert (again is None) == (node is None)
    if node is not None:
        assert repr(again.to_python()) == repr(node.to_python())
        assert again.span == node.span.shift(len(before))
        check_node(again, moved, span)


def toml(data):
    """TOML and settings: the values of the standard reader, each the text behind it."""
    source = refused(SourceFile.decode, "input.toml", data)
    if source is None:
        return
    table = refused(load_toml, source)
    if table is not None:
        expected = tomllib.loads(source.text.removeprefix("\ufeff"))
        assert repr(table.to_python()) == repr(expected)
        check_toml(table, source)
    refused(read_settings, source, ())


def check_toml(node, source):
    """Every key and value has its place, and the text of a value is the value."""
    check_span(node.span, source)
    match node:
        case Table(entries=entries):
            for entry in entries.values():
                check_span(entry.key, source)
                check_toml(entry.node, source)
        case Array(items=items):
            for item in items:
                check_toml(item, source)
        case Value(value=value, span=span):
            assert repr(tomllib.loads(f"v = {source.slice(span)}")["v"]) == repr(value)


def events(data):
    """Events: what is read is written as something that reads as the same."""
    for line in data.split(b"\n")[:5]:
        try:
            event = decode_event(line)
        except EventError:
            continue
        written = encode_event(event)
        again = decode_event(written)
        assert again == event
        assert encode_event(again) == written


READERS = [load_guard(*whole(text), GUARDS) for text in (
    "turn_index / 2.5 + context_tokens * 3 >= history_length % 7",
    "called_since('search', 2) and count_calls('shell') < turn_index",
    "arg('a.b') == jsonpath('$.a.b') or tokens('last_user') > 3",
    "now() - 5 < since_ms('rule-1') or text_contains(last_role, 'last_tool')",
    "[a, b, c, d] == [event.name, event.tool.name, event.tool.args, event.tool.status]",
)]  # fmt: skip
CONDITION_READERS = [load_condition(*whole(text)) for text in (
    "context.turn.number / 2.5 + context.turn.token_usage * 3",
    "sorted(m.content for m in context.history.messages)",
    "[(t.name, t.arguments, t.result, t.success) for t in context.history.tools]",
    "str(context.state) + str(context.user) + str(context.project.settings)",
    "{k: v for k, v in context.history.failures.items()}",
    "max(context.history.total_failures, failure_count('shell')) ** 3",
    "[context.event.payload, context.result.duration_ms * 1.5, context.result.error]",
)]  # fmt: skip


def facts(data):
    """Facts of `bylaw expr`: what is taken can be read by every kind of expression."""
    source = refused(SourceFile.decode, "facts.json", data)
    if source is None:
        return
    for view_of, readers in ((guard_view, READERS), (condition_view, CONDITION_READERS)):
        view = refused(view_of, source)
        if view is not None:
            for reader in readers:
                assert outcome(reader, view) == outcome(reader, view)
    for dialect, text in (("chatmd", "event.tool.args"), ("toml", "context")):
        check_trial(text, dialect, source)


def pages(data):
    """Spec pages: cases whose commands and expectations stand where they say."""
    source = refused(SourceFile.decode, "page.md", data)
    page = None if source is None else refused(read_page, source)
    for case in () if page is None else page.cases:
        for step in case.steps:
            if isinstance(step, FileExpectation):
                check_span(step.place, source)
                check_span(step.body, source)
            elif isinstance(step, CommandStep):
                check_span(step.command, source)
                check_span(step.expectation, source)
                assert step.words[0] in {"bylaw", "git"}
        for block in (*case.decisions, *case.diagnostics):
            for line in block.lines:
                check_span(line.place, source)
        for state in case.states:
            check_span(state.place, source)
            assert isinstance(state.value, dict)
        for file in case.files:
            assert ".." not in file.path.split("/")


TARGETS = {
    "guards": guards,
    "conditions": conditions,
    "paths": paths,
    "templates": templates,
    "yaml": yaml,
    "toml": toml,
    "toml_rules": toml_rules,
    "chatmd": chatmd,
    "chatmd_rules": chatmd_rules,
    "context": context,
    "context_calls": context_calls,
    "law": law,
    "law_commands": law_commands,
    "policies": policies,
    "events": events,
    "facts": facts,
    "pages": pages,
}
