"""Law files: read, compared, asked about messages and files; and command lines by themselves."""

import shlex

import msgspec
from invariants import check_diagnostics, check_span, refused

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.languages import law as dialect
from bylaw.languages.base import RuleFile
from bylaw.languages.law.action_reader import WHITELIST, CommandError, read_command
from bylaw.languages.law.reader import read_rules
from bylaw.model.decision import Decision
from bylaw.model.diagnostic import Severity
from bylaw.model.event import Bus, File
from bylaw.model.facts import LawFacts
from bylaw.model.procedure import Book
from bylaw.model.session import Session
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import Change
from bylaw.report.printers.formats import all_codes

FACTS = LawFacts(phase=2, allowed_roots=("src",), approvals=())
MESSAGE = {
    "msg_id": "20240116_120000_cursor_fix-lint",
    "msg_type": "command",
    "command_type": "exec",
    "phase": 2,
    "category": "A",
    "title": "t",
    "target_paths": ["src/a.ts"],
    "run": ["npm test"],
    "origin_ref": "o",
    "created_by": "cursor",
    "notes": "",
}
EVENTS = [
    *(Bus(message={**MESSAGE, "category": one}, facts=FACTS, seq=1) for one in "ABCD"),
    Bus(message={**MESSAGE, "command_type": "approval_request"}, facts=FACTS, seq=1),
    File(change=Change.RENAMED, path="src/a.ts", old_path="b", facts=FACTS, seq=1),
]


def law(data):
    """Whole law files: every finding inside the text; what loads decides alike on both paths."""
    source = refused(SourceFile.decode, "input.yaml", data)
    if source is None:
        return
    dialect.detect(source)
    rules, found = read_rules(source)
    loaded = dialect.load([RuleFile(source, "digest")])
    if loaded.diagnostics:
        check_diagnostics(loaded.diagnostics)
    assert set(found) <= set(loaded.diagnostics)
    for rule in rules:
        check_span(rule.id_span, source)
        assert 1 <= rule.line <= rule.last_line <= source.line_count
    if not any(one.severity is Severity.ERROR for one in loaded.diagnostics):
        check_decided(loaded)


def check_decided(loaded):
    """Whatever it is asked about, both paths say the same, and it can be written down."""
    book = Book(dialect=dialect.name, path="a", files=(), digest="", groups=loaded.groups)
    fast, slow = RuleSet([book]), RuleSet([book], fast=False)
    for event in EVENTS:
        quick = decide(fast, Session(), event)
        assert quick == decide(slow, Session(), event)
        if isinstance(quick, Decision):
            msgspec.json.encode((quick.plans, tuple(quick.trace)))


def law_commands(data):
    """Command lines: refused with a reason, or arguments that quoted give themselves again."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        argv = read_command(text).argv
    except CommandError as wrong:
        check_refusal(wrong, text)
        return
    assert argv[0] in WHITELIST
    quoted = shlex.join(argv)
    if len(quoted) <= len(text) and "{{" not in quoted:
        assert read_command(quoted).argv == argv


def check_refusal(wrong, text):
    """It has its place, a known code, and something to read."""
    check_span(wrong.span, SourceFile("input", text))
    assert wrong.code.name in all_codes()
    assert wrong.reason
    assert wrong.help
