"""Examples of RULE_DSL → what it says about a law file; see provoke.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.dialects.base import RuleFile
from bylaw.dialects.law.book_checks import duplicate_ids, unreached_rules
from bylaw.dialects.law.reader import read_rules
from bylaw.model.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bylaw.model.codes import Example
    from bylaw.model.diagnostic import Diagnostic


def law(example: Example) -> Sequence[Diagnostic]:
    """What is wrong with the rules of one file."""
    file = RuleFile(SourceFile("rules.yaml", example.text), "")
    rules, found = read_rules(file.source)
    pairs = [(file, rule) for rule in rules]
    return [*found, *duplicate_ids(pairs), *unreached_rules(pairs)]


READERS: dict[str, Callable[[Example], Sequence[Diagnostic]]] = {"law": law}
