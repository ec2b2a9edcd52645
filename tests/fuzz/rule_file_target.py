"""TOML rules as whole files: loaded, noted, asked about every kind of event that they know."""

import msgspec
from invariants import check_diagnostics, refused

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.languages import toml_rules as dialect
from bylaw.languages.base import RuleFile
from bylaw.languages.toml_rules.reader import read_rules
from bylaw.languages.toml_rules.syntax import from_note, to_note
from bylaw.model.decision import Decision
from bylaw.model.diagnostic import Severity
from bylaw.model.event import Prompt, SessionEnd, ToolAfter, ToolBefore, TurnEnd, TurnStart
from bylaw.model.procedure import Book
from bylaw.model.session import Session
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import CallStatus, Verdict

EVENTS = [
    Prompt(text="p", seq=1),
    TurnStart(seq=1),
    ToolBefore(tool="t", args={"a": [1]}, seq=1),
    ToolAfter(tool="t", status=CallStatus.OK, result={"k": "v"}, seq=1),
    ToolAfter(tool="t", status=CallStatus.TIMEOUT, seq=1),
    TurnEnd(text="t", seq=1),
    SessionEnd(seq=1),
]


def toml_rules(data):
    """Whole rule files: every finding inside the text, one note a rule, the same on both paths."""
    source = refused(SourceFile.decode, "rules/input.toml", data)
    if source is None:
        return
    dialect.detect(source)
    dialect.refuses_set(source)
    loaded = dialect.load([RuleFile(source, "digest")])
    if loaded.diagnostics:
        check_diagnostics(loaded.diagnostics)
    errors = [one for one in loaded.diagnostics if one.severity is Severity.ERROR]
    (group,) = loaded.groups
    assert len(group.rules) == (not errors)
    if not errors:
        check_note(source, *group.rules)
        check_decided(loaded)


def check_note(source, first):
    """The rule as it is noted for the next start is the rule."""
    ((written, _),) = read_rules([source])
    note = to_note(written)
    assert from_note(note) == written
    known = dialect.load([RuleFile(source, "digest", known=note)])
    (again,) = known.groups[0].rules
    for name in ("uid", "id", "origin", "on", "limits", "priority", "enabled", "core", "about"):
        assert getattr(first, name) == getattr(again, name), name


def check_decided(loaded):
    """Whatever it is asked about, both paths say the same, and it can be written down."""
    book = Book(dialect="toml", path="rules", files=(), digest="", groups=loaded.groups)
    fast, slow = RuleSet([book]), RuleSet([book], fast=False)
    for event in EVENTS:
        quick, definition = (decide(rules, Session(), event) for rules in (fast, slow))
        assert quick == definition
        if isinstance(quick, Decision):
            assert quick.verdict is Verdict.ALLOW
            msgspec.json.encode((quick.plans, tuple(quick.trace)))
