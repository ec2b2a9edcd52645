"""Examples of RULE_DSL → what it says about a law file; see provoke.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.engine.index import RuleSet
from bylaw.languages import law as language
from bylaw.languages.base import RuleFile
from bylaw.languages.law.book import duplicate_ids, unreached_rules
from bylaw.languages.law.reader import read_rules
from bylaw.model.errors import GuardError
from bylaw.model.event import Bus
from bylaw.model.facts import Approval, LawFacts
from bylaw.model.procedure import Book
from bylaw.model.source import SourceFile
from bylaw.model.vocabulary import ApprovalState
from bylaw.runtime.submit import DryRun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.codes import Example
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.values import JSON


RULE = """\
rule_id: R-RUN
priority: 1
trigger: {{kind: bus_input}}
guards: {{category_in: [B], approval: {{mode: single, authorities: [human]}}}}
actions: [{action}]
"""
MESSAGE: JSON = {
    "msg_id": "20240116_120000_cursor_fix-lint",
    "msg_type": "command",
    "command_type": "exec",
    "phase": 2,
    "category": "B",
    "title": "Fix lint",
    "target_paths": ["src/a.ts"],
    "origin_ref": "src/a.ts",
    "created_by": "cursor",
    "notes": "",
}
APPROVAL = Approval(
    id="20240116_120000_cursor_fix-lint", authority="human", state=ApprovalState.GRANTED
)
FACTS = LawFacts(phase=2, allowed_roots=("src",), approvals=(APPROVAL,))


def law(example: Example) -> Sequence[Diagnostic]:
    """What is wrong with the rules of one file."""
    file = RuleFile(SourceFile("rules.yaml", example.text), "")
    rules, found = read_rules(file.source)
    pairs = [(file, rule) for rule in rules]
    return [*found, *duplicate_ids(pairs), *unreached_rules(pairs)]


def action(example: Example) -> Sequence[GuardError]:
    """What keeps the action of a rule from being carried out, at an approved message."""
    text = RULE.format(action=example.text)
    groups = language.load([RuleFile(SourceFile("rules.yaml", text), "")]).groups
    book = Book(dialect=language.name, path="rules.yaml", files=(), digest="", groups=groups)
    event = Bus(message=MESSAGE, facts=FACTS)
    (line,) = DryRun(RuleSet([book])).submit(event).decision.trace[-1:]
    _, code, message = line.detail.split(": ", 2)
    return [GuardError(code, message)]


READERS: dict[str, Callable[[Example], Sequence[Diagnostic | GuardError]]] = {
    "law": law,
    "law-action": action,
}
