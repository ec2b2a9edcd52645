"""Rules and policies of ChatMD files: loaded, asked about every kind of event that they know."""

import msgspec
from invariants import check_diagnostics, refused

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.languages import chatmd as dialect
from bylaw.languages.base import RuleFile
from bylaw.model.diagnostic import has_errors
from bylaw.model.event import Message, ToolAfter, ToolBefore, TurnEnd, TurnStart
from bylaw.model.fold import fold
from bylaw.model.procedure import Book
from bylaw.model.session import Session, encode_session
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import CallStatus, Role

EVENTS = [
    TurnStart(seq=1, at=1),
    Message(role=Role.USER, text="Error", seq=2, at=2),
    ToolBefore(tool="X", args={"q": "eio", "o": {"k": [7, None]}}, call="a", seq=3, at=3),
    ToolBefore(tool="X", call="b", seq=4, at=4),
    ToolAfter(tool="X", args={"q": "x" * 300}, call="a", status=CallStatus.OK, seq=5, at=5),
    ToolAfter(tool="Y", call="c", status=CallStatus.TIMEOUT, seq=6, at=6),
    TurnEnd(tokens=50_000, seq=7, at=7),
    TurnStart(seq=8, at=3_000),
]


def chatmd_rules(data):
    """Whole files: every finding inside the text, the same rules from their part of it."""
    source = refused(SourceFile.decode, "chats/input.chatmd", data)
    if source is None:
        return
    loaded = dialect.load([RuleFile(source, "digest")])
    if loaded.diagnostics:
        check_diagnostics(loaded.diagnostics)
    if has_errors(loaded.diagnostics):
        assert not any(group.rules for group in loaded.groups)
        return
    check_kept(source, loaded)
    check_decided(loaded)


def check_kept(source, loaded):
    """What a journal keeps of a file gives the same rules at the same places."""
    kept = SourceFile(source.path, dialect.rule_text(source))
    again = dialect.load([RuleFile(kept, "digest")])
    for first, second in zip(loaded.groups, again.groups, strict=True):
        assert first.procedure == second.procedure
        assert [_name(rule) for rule in first.rules] == [_name(rule) for rule in second.rules]


def _name(rule):
    return rule.uid, rule.origin, rule.on, rule.filter, rule.limits, rule.priority, rule.about


def check_decided(loaded):
    """Along a session both paths say the same, and it can be written down."""
    book = Book(dialect="chatmd", path="a", files=(), digest="", groups=loaded.groups)
    fast, slow = RuleSet([book]), RuleSet([book], fast=False)
    session = Session()
    for event in EVENTS:
        quick, definition = (decide(rules, session, event) for rules in (fast, slow))
        assert quick == definition
        msgspec.json.encode((quick.reasons, quick.plans, tuple(quick.trace)))
        session = fold(session, event, quick)
        encode_session(session)
