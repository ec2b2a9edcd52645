"""File policies: Markdown files that say which files must change together, or what follows.

    text → read (reader.py) → the policy as written (written.py) → lowered (lowering.py)

What a policy finds is pure: changed files in (correspondence.py), states out (judging.py). Who
knows the changes and keeps the queue is a host.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bylaw.dialects.base import Loaded, Start, Startable, WhenBroken
from bylaw.dialects.file_policies.book_checks import duplicate_ids, same_titles
from bylaw.dialects.file_policies.commands import script_of
from bylaw.dialects.file_policies.front_matter import head
from bylaw.dialects.file_policies.lowering import GROUP, NAME, lowered, skips_abandoned
from bylaw.dialects.file_policies.reader import KEYS, LEGACY_KEYS, read_noted
from bylaw.dialects.file_policies.steps import Runs
from bylaw.model.uid import BUILT_IN
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bylaw.dialects.base import RuleFile
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.procedure import Book
    from bylaw.model.source import SourceFile

name = NAME
spec = "deepwork Policy System Design (sets, pairs, commands, queue), with the mode `created`"
suffixes = (".md",)
common_ending = True
one_book_per_file = False
when_broken = WhenBroken(group=GROUP, kinds=(Kind.AGENT_STOP,), verdict=Verdict.WARN, once=True)
# Many Markdown files have front matter, and most of it has a `name`.
_TELLING = re.compile(
    rf"""^["']?(?:{"|".join(key for key in (*KEYS, *LEGACY_KEYS) if key != "name")})["']?[ \t]*:""",
    re.MULTILINE,
)


def detect(source: SourceFile) -> bool:
    """Whether it has front matter with a key of a policy."""
    return _TELLING.search(head(source)) is not None


def rule_text(source: SourceFile) -> str:
    """All of it."""
    return source.text


def in_own_words(finding: Diagnostic) -> Diagnostic:
    """The codes of the reader are as good as any."""
    return finding


def refuses_set(source: SourceFile) -> bool:  # noqa: ARG001 - a broken policy warns, that is enough
    """Never: policies work without each other."""
    return False


def starts(book: Book, files: Sequence[RuleFile]) -> Sequence[Start]:  # noqa: ARG001 - the rules tell
    """The commands of all policies."""
    found = [
        Start(Startable.PROGRAM, maker.action.command, rule.uid, script_of(maker.action.words))
        for group in book.groups
        for rule in group.rules
        for maker in rule.plan.steps
        if isinstance(maker, Runs)
    ]
    return list(dict.fromkeys(found))


def load(files: Sequence[RuleFile]) -> Loaded:
    """The policies of all files; one bad file spoils no other.

    The file that is built in has none: it stands for the rule about policies that are gone.
    """
    written = [file for file in files if file.path != BUILT_IN]
    others = [skips_abandoned(written)] if len(written) < len(files) else []
    read = [(file, read_noted(file.source, file.known)) for file in written]
    sound = [(one.policy, file) for file, one in read if one.policy is not None]
    duplicates = duplicate_ids(sound)
    refused = {id(one.source) for one in duplicates}
    in_force = [(policy, file) for policy, file in sound if id(file.source) not in refused]
    findings = [finding for _, one in read for finding in one.findings]
    return Loaded(
        groups=(lowered(in_force, others),),
        diagnostics=(*findings, *duplicates, *same_titles(in_force)),
        notes={file.digest: one.note for file, one in read if one.note},
    )
