"""The files of a book → their rules, between the built-in ones, and findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.base import Loaded, Visit
from bylaw.dialects.law.book_checks import duplicate_ids, unreached_rules
from bylaw.dialects.law.built_in import BEFORE
from bylaw.dialects.law.closing import PROCEDURE
from bylaw.dialects.law.lowering import lowered
from bylaw.dialects.law.names import GROUP
from bylaw.dialects.law.reader import read_rules
from bylaw.model.diagnostic import has_errors
from bylaw.model.procedure import Group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import RuleFile
    from bylaw.dialects.law.written import WrittenRule
    from bylaw.model.diagnostic import Diagnostic


def load(files: Sequence[RuleFile]) -> Loaded:
    """Load the rules of all files; an error in one file does not affect the others."""
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
    """A file with its rules and findings."""

    file: RuleFile
    rules: list[WrittenRule]
    findings: list[Diagnostic]
