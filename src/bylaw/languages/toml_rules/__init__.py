"""TOML rules: one rule per file, with the tables `[rule]`, `[condition]` and `[action]`.

    text → reader.py → the rule as written (syntax.py) → lowering.py → the rule of the engine

TOML rules never block (TR-A21): they notify, log, set state and emit events.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.languages.base import WhenBroken
from bylaw.languages.toml import read_toml
from bylaw.model.errors import LoadError
from bylaw.model.vocabulary import Kind, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.languages.base import Launch, LoadResult, RuleFile
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

NAME = "toml"
SUFFIX = ".toml"
GROUP = "rules"


name = NAME
spec = "TOML Rule Format (rule, condition, action)"
suffixes = (SUFFIX,)
common_ending = False
one_book_per_file = False
# The first event of any of these kinds reports the broken file.
when_broken = WhenBroken(
    group=GROUP,
    kinds=(
        *(Kind.PROMPT, Kind.TURN_START, Kind.TURN_END, Kind.TOOL_BEFORE),
        *(Kind.TOOL_AFTER, Kind.SESSION_END),
    ),
    verdict=Verdict.WARN,
    once=True,
)
# `core = true` in invalid TOML. It also matches `True`, because that may be the error.
_CORE = re.compile(
    r"""^[^#\n]*?(?<![\w-])core["']?[ \t]*=[ \t]*["']?true\b""", re.MULTILINE | re.IGNORECASE
)


def detect(source: SourceFile) -> bool:
    """Return whether the file has the table `[rule]`."""
    try:
        return "rule" in read_toml(source).values
    except LoadError:
        return True  # load it, so that its errors are reported


def rule_text(source: SourceFile) -> str:
    """Return the complete text."""
    return source.text


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """Return the finding unchanged."""
    return finding


def refuses_set(source: SourceFile) -> bool:
    """Return whether the broken file asks to be core (TR-A12), with any spelling of `true`."""
    try:
        rule = read_toml(source).values.get("rule")
    except LoadError:
        return _CORE.search(source.text) is not None
    if not isinstance(rule, dict):  # the section itself is misspelt
        return _CORE.search(source.text) is not None
    return str(rule.get("core")).lower() == "true"


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Launch]:  # noqa: ARG001 - starts none
    """Return nothing: scripts run in a worker process of Bylaw."""
    return ()


def load(files: Sequence[RuleFile]) -> LoadResult:
    """Load the rules of all files."""
    from bylaw.languages.toml_rules.lowering import load as loaded  # noqa: PLC0415 - slow import

    return loaded(files)
