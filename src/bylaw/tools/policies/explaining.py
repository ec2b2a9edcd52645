"""A path × a policy → whether the policy looks at that file, by which pattern, what it expects.

What is known of the work tree says more: whether the policy fires because of the file, or why not.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from bylaw.dialects.file_policies.correspondence import Result, changed_files, find
from bylaw.dialects.file_policies.trigger_hash import content_digest, trigger_hash
from bylaw.dialects.file_policies.written import Mode
from bylaw.expr.paths import pattern
from bylaw.model.vocabulary import EntryStatus, FileStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bylaw.dialects.file_policies.correspondence import Finding
    from bylaw.dialects.file_policies.written import WrittenPolicy
    from bylaw.model.facts import ChangedFile, ChangeSet, Entry
    from bylaw.tools.policies.known import KnownPolicy

    EntryOf = Callable[[str], Entry | None]

_CLOSED = (EntryStatus.PASSED, EntryStatus.SKIPPED)


class Role(StrEnum):
    """What a file is to a policy."""

    TRIGGER = "trigger"
    SAFETY = "safety"
    EXPECTED = "expected"


class Says(StrEnum):
    """What a policy says about a file as it is now; `unknown`: git cannot tell what changed."""

    FIRES = "fires"
    SATISFIED = "satisfied"
    SETTLED = "settled"
    UNCHANGED = "unchanged"
    NOT_NEW = "not new"
    SAFETY = "safety"
    EXPECTED = "expected"
    NO_MATCH = "no match"
    OFF = "off"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Hit:
    """A pattern of a policy that matches a file."""

    role: Role
    pattern: str
    captures: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Expected:
    """What must change together with a file, a path or a glob; None: not known whether it did."""

    path: str
    changed: bool | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """One policy about one file. `status` is how the file changed, empty if it did not."""

    known: KnownPolicy
    says: Says
    hits: tuple[Hit, ...] = ()
    expects: tuple[Expected, ...] = ()
    status: str = ""
    because: tuple[str, ...] = ()

    @property
    def looks(self) -> bool:
        """Whether the policy looks at the file at all."""
        return bool(self.hits)


def explain(
    known: KnownPolicy, path: str, changes: ChangeSet | None, entry_of: EntryOf
) -> Explanation:
    """What a policy has to say about a normalised path."""
    hits = tuple(_hits(known.policy, path))
    files = None if changes is None else changed_files(changes.files)
    changed = files.get(path) if files else None
    status = changed.status.value if changed else ""
    says, because = _says(known, path, hits, changes, entry_of)
    expects = tuple(_expects(known.policy, hits, files))
    return Explanation(known, says, hits, expects, status, because)


def _hits(policy: WrittenPolicy, path: str) -> Iterator[Hit]:
    """The first pattern of each role that matches, as the policy itself looks for it."""
    roles = {
        Role.TRIGGER: policy.trigger,
        Role.SAFETY: policy.safety,
        Role.EXPECTED: policy.expects,
    }
    for role, texts in roles.items():
        found = ((text, pattern(text).match(path)) for text in texts)
        first = next(((text, one) for text, one in found if one is not None), None)
        if first is not None:
            yield Hit(role, *first)


def _expects(
    policy: WrittenPolicy, hits: tuple[Hit, ...], files: Mapping[str, ChangedFile] | None
) -> Iterator[Expected]:
    hit = next((one for one in hits if one.role is Role.TRIGGER), None)
    if hit is None or policy.mode not in (Mode.SET, Mode.PAIR):
        return
    others = policy.expects or [one for one in policy.trigger if one != hit.pattern]
    for text in others:
        wanted = pattern(text).resolve(hit.captures)
        if files is None:
            yield Expected(wanted.text, None)
        else:
            is_there = wanted.text in files if wanted.literal else any(map(wanted.match, files))
            yield Expected(wanted.text, is_there)


def _says(
    known: KnownPolicy,
    path: str,
    hits: tuple[Hit, ...],
    changes: ChangeSet | None,
    entry_of: EntryOf,
) -> tuple[Says, tuple[str, ...]]:
    """What it says, and the files because of which it says so."""
    roles = {hit.role for hit in hits}
    if not roles:
        return Says.NO_MATCH, ()
    if known.is_off:
        return Says.OFF, ()
    if Role.TRIGGER not in roles:
        return (Says.SAFETY if Role.SAFETY in roles else Says.EXPECTED), ()
    if changes is None:
        return Says.UNKNOWN, ()
    changed = changed_files(changes.files).get(path)
    if changed is None:
        return Says.UNCHANGED, ()
    if known.policy.mode is Mode.CREATED and changed.status is FileStatus.MODIFIED:
        return Says.NOT_NEW, ()
    finding = find(known.policy, changes)
    assert finding is not None, "a changed file triggers it"
    return _found(known.policy, path, finding, changes, entry_of)


def _found(
    policy: WrittenPolicy, path: str, finding: Finding, changes: ChangeSet, entry_of: EntryOf
) -> tuple[Says, tuple[str, ...]]:
    lacking = tuple(wanted for file, wanted in finding.arrows if file == path)
    arrows = policy.mode in (Mode.SET, Mode.PAIR)
    if finding.outcome is Result.SATISFIED or (arrows and not lacking):
        return Says.SATISFIED, finding.matched_files if policy.safety else ()
    digests = {one: file.digest for one, file in changed_files(changes.files).items()}
    entry = entry_of(trigger_hash(policy.id, finding.trigger_files, changes.ref))
    is_same = entry is not None and entry.digest == content_digest(finding.paths, digests)
    if entry is not None and is_same and entry.status in _CLOSED:
        return Says.SETTLED, (entry.status.value,)
    return Says.FIRES, lacking
