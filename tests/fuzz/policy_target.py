"""File policies: read, asked about changes and promises."""

import msgspec
from invariants import check_diagnostics, refused

from bylaw.engine.decide import decide
from bylaw.engine.index import RuleSet
from bylaw.languages import file_policies as dialect
from bylaw.languages.base import RuleFile
from bylaw.languages.file_policies.reader import read_policy
from bylaw.languages.file_policies.triggers import find_match
from bylaw.model.decision import Decision, Needs
from bylaw.model.event import AgentStop, Message
from bylaw.model.facts import ChangedFile, Changes, ChangeSet, Entry, WorkFacts
from bylaw.model.procedure import Book
from bylaw.model.session import Session
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import EntryStatus, FileStatus, Role

PATHS = ("src/a.py", "src/a/b.py", "tests/a_test.py", "README.md", "-rf", "a b", "{file}", "é")
CHANGES = ChangeSet(
    ref="abc",
    files=tuple(
        ChangedFile(path=path, status=status, digest="x")
        for path, status in zip(PATHS, [*FileStatus] * 2, strict=True)
    ),
)
ENTRY = Entry(policy="input", status=EntryStatus.QUEUED, digest="x", shown=1)


def policies(data):
    """Whole files: every finding inside the text; what loads decides alike, noted or read anew."""
    source = refused(SourceFile.decode, "input.md", data)
    if source is None:
        return
    dialect.detect(source)
    policy, found = read_policy(source)
    loaded = dialect.load([RuleFile(source, "digest")])
    assert list(loaded.diagnostics) == found
    if found:
        check_diagnostics(found)
    if policy is None:
        return
    check_finding(policy)
    decided = check_decided(policy, loaded)
    for note in loaded.notes.values():
        again = dialect.load([RuleFile(source, "digest", known=note)])
        assert check_decided(policy, again) == decided


def check_finding(policy):
    """Nothing is listed that did not change, and what is violated says why."""
    finding = find_match(policy, CHANGES)
    if finding is None:
        return
    assert finding.trigger_files
    assert {*finding.trigger_files, *finding.matched_files} <= {*PATHS}
    assert {start for start, _ in finding.arrows} <= {*finding.trigger_files}
    if policy.mode in ("set", "pair"):
        assert finding.is_satisfied != bool(finding.arrows)


def check_decided(policy, loaded):
    """Both paths say the same, and it can be written down."""
    book = Book(dialect=dialect.name, path="a", files=(), digest="", groups=loaded.groups)
    fast, slow = RuleSet([book]), RuleSet([book], fast=False)
    changes = Changes(base=CHANGES, default_tip=CHANGES, prompt=CHANGES)
    facts = WorkFacts(changes=changes, entries={"f" * 12: ENTRY})
    while isinstance(asked := decide(fast, Session(), AgentStop(facts=facts)), Needs):
        unknown = {need.key: None for need in asked.needs}
        facts = msgspec.structs.replace(facts, entries={**facts.entries, **unknown})
    promise = f"<promise>{policy.title}</promise>"
    answers = []
    for event in (
        AgentStop(facts=facts, seq=1),
        Message(role=Role.ASSISTANT, text=promise, facts=facts, seq=1),
    ):
        quick = decide(fast, Session(), event)
        assert quick == decide(slow, Session(), event)
        assert isinstance(quick, Decision)
        answers.append(msgspec.json.encode((quick.plans, quick.reasons, tuple(quick.trace))))
    return answers
