"""RULE_DSL (L-10-DSL): YAML rules that bind file events and bus commands to guarded actions.

    text → read (reader.py) → the rule as written (written.py) → lowered (lowering.py)

Beside what is written stand the rules of the language itself: before (built_in.py) and behind
(closing.py) all others.
"""

from __future__ import annotations

import re
from shlex import join
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.base import Loaded, Start, Startable, Visit, WhenBroken
from bylaw.dialects.law.actions import Runs
from bylaw.dialects.law.book_checks import duplicate_ids, unreached_rules
from bylaw.dialects.law.built_in import BEFORE, NAME
from bylaw.dialects.law.closing import PROCEDURE
from bylaw.dialects.law.command_line import WHITELIST
from bylaw.dialects.law.lowering import lowered
from bylaw.dialects.law.reader import VERSION, read_rules
from bylaw.model.diagnostic import has_errors
from bylaw.model.procedure import Group
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import RuleFile
    from bylaw.dialects.law.written import WrittenRule
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

name = NAME
spec = f"LAW: RULE_DSL (L-10-DSL), version {VERSION}, Active Draft"
suffixes = (".yaml", ".yml")
common_ending = True
one_book_per_file = False
GROUP = "law"
when_broken = WhenBroken(group=GROUP, kinds=(Kind.BUS,), verdict=Verdict.DENY)
# What hardly any other YAML has: one of them is there even if another is missing or misspelt.
_TELLING = re.compile(
    r"""^[\s{[,-]*["']?(?:dsl_version|rule_id)["']?\s*:"""
    r"""|\bkind["']?\s*:\s*["']?(?:fs_event|bus_input)\b""",
    re.MULTILINE,
)


def detect(source: SourceFile) -> bool:
    """Whether it names the version of the language, a rule, or a trigger."""
    return _TELLING.search(source.text) is not None


def rule_text(source: SourceFile) -> str:
    """All of it."""
    return source.text


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """The codes of the reader are as good as any."""
    return finding


def refuses_set(source: SourceFile) -> bool:  # noqa: ARG001 - a broken file closes the bus, that is enough
    """Never: while a file does not load, every message is denied."""
    return False


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Start]:  # noqa: ARG001 - the rules tell
    """The command lines of all rules; once for the rules that one was lowered to."""
    found = [
        Start(Startable.PROGRAM, _command(maker), rule.uid)
        for group in book.groups
        for rule in group.rules
        for maker in rule.plan.steps
        if isinstance(maker, Runs)
    ]
    return list(dict.fromkeys(found))


def _command(maker: Runs) -> str:
    if maker.action.of_message:
        return f"whatever an approved message brings in `run` ({', '.join(WHITELIST)})"
    return join(maker.action.argv)


def load(files: Sequence[RuleFile]) -> Loaded:
    """The rules of all files; one bad file spoils no other."""
    read = [_Read(file, *read_rules(file.source)) for file in files]
    duplicates = duplicate_ids((one.file, rule) for one in read for rule in one.rules)
    for one in read:
        one.findings += [each for each in duplicates if each.source is one.file.source]
    sound = [one for one in read if not has_errors(one.findings)]
    in_force = [(one.file, rule) for one in sound for rule in one.rules]
    findings = [finding for one in read for finding in one.findings]
    rules = [each for file, rule in in_force for each in lowered(rule, file)]
    return Loaded(
        groups=(Group(GROUP, Visit.LAW, PROCEDURE, (*BEFORE, *rules)),),
        diagnostics=(*findings, *unreached_rules(in_force)),
    )


class _Read(Struct):
    """A file, the rules in it, and what is wrong."""

    file: RuleFile
    rules: list[WrittenRule]
    findings: list[Diagnostic]
