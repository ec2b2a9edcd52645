"""TOML rules: one file a rule with `[rule]`, `[condition]`, `[action]` → rules that observe.

    text → read (reader.py) → the rule as written (written.py) → lowered (lowering.py)

loading.py does this for all files, with their scripts.

They never block (TR-A21): they notify, log, set state and emit events.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.base import WhenBroken
from bylaw.dialects.toml import read_toml
from bylaw.dialects.toml_rules.names import GROUP, NAME, SUFFIX
from bylaw.model.errors import LoadError
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import Loaded, RuleFile, Start
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

name = NAME
spec = "TOML Rule Format (rule, condition, action)"
suffixes = (SUFFIX,)
common_ending = False
one_book_per_file = False
# Its author learns of it with the next thing that happens, whatever that is.
when_broken = WhenBroken(
    group=GROUP,
    kinds=(
        *(Kind.PROMPT, Kind.TURN_START, Kind.TURN_END, Kind.TOOL_BEFORE),
        *(Kind.TOOL_AFTER, Kind.SESSION_END),
    ),
    verdict=Verdict.WARN,
    once=True,
)
# In a text that is no TOML; `True` instead of `true` may be what is wrong with it.
_CORE = re.compile(
    r"""^[^#\n]*?(?<![\w-])core["']?[ \t]*=[ \t]*["']?true\b""", re.MULTILINE | re.IGNORECASE
)


def detect(source: SourceFile) -> bool:
    """Whether it has the section that every rule has."""
    try:
        return "rule" in read_toml(source).values
    except LoadError:
        return True  # to be told what is wrong with it


def rule_text(source: SourceFile) -> str:
    """All of it."""
    return source.text


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """The codes of the reader are as good as any."""
    return finding


def refuses_set(source: SourceFile) -> bool:
    """Whether the file wants to be core (TR-A12), however it writes `true`."""
    try:
        rule = read_toml(source).values.get("rule")
    except LoadError:
        return _CORE.search(source.text) is not None
    if not isinstance(rule, dict):  # the section itself is misspelt
        return _CORE.search(source.text) is not None
    return str(rule.get("core")).lower() == "true"


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Start]:  # noqa: ARG001 - see below
    """Nothing: scripts run in the worker of Bylaw itself."""
    return ()


def load(files: Sequence[RuleFile]) -> Loaded:
    """The rules of all files."""
    from bylaw.dialects.toml_rules.loading import load as loaded  # noqa: PLC0415 - see `dialects.base`

    return loaded(files)
