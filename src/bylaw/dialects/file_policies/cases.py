"""The case of a policy: what it found, with its hash; and the plain values that rules bind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, convert, to_builtins

from bylaw.dialects.file_policies.trigger_hash import content_digest, looked_at, trigger_hash
from bylaw.model.decision import Match
from bylaw.model.vocabulary import EntryStatus, FileStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bylaw.dialects.file_policies.correspondence import Finding
    from bylaw.dialects.file_policies.written import WrittenPolicy
    from bylaw.model.facts import ChangedFile


class Closing(Struct, frozen=True):
    """An entry to close: its new status, digest and result.

    `is_current` is true for the entry of the current case.
    """

    hash: str
    status: EntryStatus
    digest: str
    shown: int
    result: str | None = None
    is_current: bool = False


class Case(Struct, frozen=True, kw_only=True):
    """What a policy finds now, with the hash of its entry.

    `existing` are the trigger files that were not deleted.
    """

    hash: str = ""
    baseline: str = ""
    digest: str = ""
    trigger_files: tuple[str, ...] = ()
    expected_files: tuple[str, ...] = ()
    matched_files: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    arrows: tuple[tuple[str, str], ...] = ()
    existing: tuple[str, ...] = ()
    is_satisfied: bool = False


NO_CASE = Case()


class Bound(Struct, frozen=True, kw_only=True):
    """What a rule binds: the case, the state of its entry, and the entries to close."""

    case: Case
    shown: int = 0
    result: str = ""
    closing: tuple[Closing, ...] = ()

    def as_match(self) -> Match:
        """Return a match with plain values."""
        return Match(to_builtins(self))


def bound_of(match: Match) -> Bound:
    """Return what the rule bound."""
    return convert(match.values, Bound)


def case_of(
    policy: WrittenPolicy, finding: Finding, files: Mapping[str, ChangedFile], baseline: str
) -> Case:
    """Return the case of a finding. `files` are the changed files by path."""
    command = policy.action.command if policy.action else ""
    paths = looked_at(finding.paths, command)
    digests = {path: files[path].digest for path in paths if path in files}
    there = [p for p in finding.trigger_files if files[p].status is not FileStatus.DELETED]
    return Case(
        hash=trigger_hash(policy.id, finding.trigger_files, baseline),
        baseline=baseline,
        digest=content_digest(paths, digests, command),
        trigger_files=finding.trigger_files,
        expected_files=finding.expected_files,
        matched_files=finding.matched_files,
        missing=finding.missing,
        arrows=finding.arrows,
        existing=tuple(there),
        is_satisfied=finding.is_satisfied,
    )
