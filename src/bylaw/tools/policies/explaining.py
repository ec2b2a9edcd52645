"""Explain what a file policy does with a path: which pattern matches, and what it expects.

If the changes of the work tree are known, also explain whether the file makes the policy fire.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from bylaw.dialects.file_policies.cases import case_of
from bylaw.dialects.file_policies.correspondence import find
from bylaw.dialects.file_policies.judging import PolicyState, state_of
from bylaw.dialects.file_policies.sieve import changed_files, is_new, triggered_by
from bylaw.dialects.file_policies.written import Mode
from bylaw.expr.paths import pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bylaw.dialects.file_policies.cases import Case
    from bylaw.dialects.file_policies.correspondence import Finding
    from bylaw.dialects.file_policies.written import CompareTo, WrittenPolicy
    from bylaw.model.facts import ChangedFile, Changes, ChangeSet, Entry
    from bylaw.tools.policies.known import KnownPolicy

    EntryOf = Callable[[str], Entry | None]


class FileRole(StrEnum):
    """Role of a file in a policy."""

    TRIGGER = "trigger"
    SAFETY = "safety"
    EXPECTED = "expected"


class Says(StrEnum):
    """Result of a policy for a file as it is now. `unknown`: the changes are not known."""

    FIRES = "fires"
    FAILED = "failed"
    SATISFIED = "satisfied"
    NOTHING_TO_RUN = "nothing to run"
    SETTLED = "settled"
    UNCHANGED = "unchanged"
    NOT_NEW = "not new"
    SAFETY = "safety"
    EXPECTED = "expected"
    NO_MATCH = "no match"
    OFF = "off"
    UNKNOWN = "unknown"


# For a policy that a file triggers, if its files do not satisfy it.
_SAYS = {
    PolicyState.VIOLATED: Says.FIRES,
    PolicyState.FAILED: Says.FAILED,
    PolicyState.NOT_RUN: Says.FAILED,
    PolicyState.INTERRUPTED: Says.FAILED,
    PolicyState.SATISFIED: Says.NOTHING_TO_RUN,
    PolicyState.ANSWERED: Says.SETTLED,
}


class PatternHit(Struct, frozen=True):
    """A pattern of a policy that matches a file."""

    role: FileRole
    pattern: str
    captures: Mapping[str, str]


class Expected(Struct, frozen=True):
    """A path or glob that must change together with a file. `changed` None: not known."""

    path: str
    changed: bool | None


class Explanation(Struct, frozen=True):
    """One policy for one file. `status` says how the file changed, empty if it did not."""

    known: KnownPolicy
    says: Says
    hits: tuple[PatternHit, ...] = ()
    expects: tuple[Expected, ...] = ()
    status: str = ""
    because: tuple[str, ...] = ()

    @property
    def looks(self) -> bool:
        """Whether a pattern of the policy matches the file."""
        return bool(self.hits)


class Explaining:
    """Explains policies for any number of files. Results for the work tree are cached.

    Without `changes` it is not known what changed.
    """

    def __init__(self, changes: Changes | None, entry_of: EntryOf) -> None:
        self._changes = changes
        self._entry_of = entry_of
        self._files: dict[CompareTo, Mapping[str, ChangedFile]] = {}
        self._findings: dict[str, Finding] = {}

    def about(self, known: KnownPolicy, path: str) -> Explanation:
        """Explain a policy for a normalised path."""
        hits = tuple(_hits(known.policy, path))
        files = self._changed(known.policy)
        changed = files.get(path) if files else None
        says, because = self._says(known, path, hits)
        expects = tuple(_expects(known.policy, hits, files))
        status = changed.status.value if changed else ""
        return Explanation(known, says, hits, expects, status, because)

    def _change_set(self, policy: WrittenPolicy) -> ChangeSet | None:
        found = getattr(self._changes, policy.compare_to.value, UNSET)
        return None if found is UNSET else found

    def _changed(self, policy: WrittenPolicy) -> Mapping[str, ChangedFile] | None:
        changes = self._change_set(policy)
        if changes is None:
            return None
        if policy.compare_to not in self._files:
            self._files[policy.compare_to] = changed_files(changes.files)
        return self._files[policy.compare_to]

    def _says(
        self, known: KnownPolicy, path: str, hits: tuple[PatternHit, ...]
    ) -> tuple[Says, tuple[str, ...]]:
        """Return the result, with the files or the entry status that explain it."""
        roles = {hit.role for hit in hits}
        if not roles:
            return Says.NO_MATCH, ()
        if known.is_off:
            return Says.OFF, ()
        if FileRole.TRIGGER not in roles:
            return (Says.SAFETY if FileRole.SAFETY in roles else Says.EXPECTED), ()
        return self._triggered(known.policy, path)

    def _triggered(self, policy: WrittenPolicy, path: str) -> tuple[Says, tuple[str, ...]]:
        changes, files = self._change_set(policy), self._changed(policy)
        if changes is None or files is None:
            return Says.UNKNOWN, ()
        if path not in files:
            return Says.UNCHANGED, ()
        if policy.mode is Mode.CREATED and not is_new(files[path]):
            return Says.NOT_NEW, ()
        finding = self._finding(policy, changes)
        return self._found(policy, path, case_of(policy, finding, files, changes.ref))

    def _finding(self, policy: WrittenPolicy, changes: ChangeSet) -> Finding:
        if policy.id not in self._findings:
            finding = find(policy, changes)
            assert finding is not None, "a changed file triggers it"
            self._findings[policy.id] = finding
        return self._findings[policy.id]

    def _found(self, policy: WrittenPolicy, path: str, case: Case) -> tuple[Says, tuple[str, ...]]:
        if path not in case.trigger_files:
            return Says.SATISFIED, ()  # the group of this file is complete, another group is not
        entry = self._entry_of(case.hash)
        state = state_of(policy, case, entry)
        if case.is_satisfied and state in (None, PolicyState.SATISFIED):
            return Says.SATISFIED, case.matched_files if policy.safety else ()
        says = Says.SETTLED if state is None else _SAYS[state]
        if says is Says.SETTLED:
            assert entry is not None, "only an entry can resolve it"
            return says, (entry.status.value,)
        lacking = tuple(wanted for file, wanted in case.arrows if file == path)
        return says, lacking if says is Says.FIRES else ()


def _hits(policy: WrittenPolicy, path: str) -> Iterator[PatternHit]:
    """Yield for each role the first pattern that matches, as the policy itself matches."""
    trigger = triggered_by(policy, path)
    roles = {
        FileRole.TRIGGER: () if trigger is None else (trigger,),
        FileRole.SAFETY: policy.safety,
        FileRole.EXPECTED: policy.expects,
    }
    for role, texts in roles.items():
        found = ((text, pattern(text).match(path)) for text in texts)
        first = next(((text, one) for text, one in found if one is not None), None)
        if first is not None:
            yield PatternHit(role, *first)


def _expects(
    policy: WrittenPolicy, hits: tuple[PatternHit, ...], files: Mapping[str, ChangedFile] | None
) -> Iterator[Expected]:
    hit = next((one for one in hits if one.role is FileRole.TRIGGER), None)
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
