"""Explain what a file policy does with a path: which pattern matches, and what it expects.

If the changes of the work tree are known, also explain whether the file makes the policy fire, and
write the complete message of a policy about current changes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from bylaw.languages.file_policies.evaluation import PolicyState, case_of, state_of
from bylaw.languages.file_policies.syntax import Mode, fill_instructions
from bylaw.languages.file_policies.triggers import (
    changed_files,
    find_match,
    is_new,
    matching_trigger,
)
from bylaw.model.display import visible_once
from bylaw.paths import pattern
from bylaw.worktree.stop_message import arrow_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from bylaw.languages.file_policies.evaluation import PolicyCase
    from bylaw.languages.file_policies.syntax import CompareTo, PolicySyntax
    from bylaw.languages.file_policies.triggers import PolicyMatch
    from bylaw.model.facts import ChangedFile, Changes, ChangeSet, Entry
    from bylaw.worktree.run import PolicyEntry

    EntryOf = Callable[[str], Entry | None]


class FileRole(StrEnum):
    """Role of a file in a policy."""

    TRIGGER = "trigger"
    SAFETY = "safety"
    EXPECTED = "expected"


class PolicyStatus(StrEnum):
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
_STATUS_OF_STATE = {
    PolicyState.VIOLATED: PolicyStatus.FIRES,
    PolicyState.FAILED: PolicyStatus.FAILED,
    PolicyState.NOT_RUN: PolicyStatus.FAILED,
    PolicyState.INTERRUPTED: PolicyStatus.FAILED,
    PolicyState.SATISFIED: PolicyStatus.NOTHING_TO_RUN,
    PolicyState.ANSWERED: PolicyStatus.SETTLED,
}


class PatternHit(Struct, frozen=True):
    """A pattern of a policy that matches a file."""

    role: FileRole
    pattern: str
    captures: Mapping[str, str]


class ExpectedFile(Struct, frozen=True):
    """A path or glob that must change together with a file. `changed` None: not known."""

    path: str
    changed: bool | None


class PolicyExplanation(Struct, frozen=True):
    """One policy for one file. `status` says how the file changed, empty if it did not."""

    known: PolicyEntry
    says: PolicyStatus
    hits: tuple[PatternHit, ...] = ()
    expects: tuple[ExpectedFile, ...] = ()
    status: str = ""
    because: tuple[str, ...] = ()

    @property
    def matches(self) -> bool:
        """Whether a pattern of the policy matches the file."""
        return bool(self.hits)


class PolicyExplainer:
    """Explains policies for any number of files. Results for the work tree are cached.

    Without `changes` it is not known what changed.
    """

    def __init__(self, changes: Changes | None, entry_of: EntryOf) -> None:
        self._changes = changes
        self._entry_of = entry_of
        self._files: dict[CompareTo, Mapping[str, ChangedFile]] = {}
        self._findings: dict[str, PolicyMatch] = {}

    def about(self, known: PolicyEntry, path: str) -> PolicyExplanation:
        """Explain a policy for a normalised path."""
        hits = tuple(_hits(known.policy, path))
        files = self._changed_files(known.policy)
        changed = files.get(path) if files else None
        says, because = self._result(known, path, hits)
        expects = tuple(_expected_files(known.policy, hits, files))
        status = changed.status.value if changed else ""
        return PolicyExplanation(known, says, hits, expects, status, because)

    def _change_set(self, policy: PolicySyntax) -> ChangeSet | None:
        found = getattr(self._changes, policy.compare_to.value, UNSET)
        return None if found is UNSET else found

    def _changed_files(self, policy: PolicySyntax) -> Mapping[str, ChangedFile] | None:
        changes = self._change_set(policy)
        if changes is None:
            return None
        if policy.compare_to not in self._files:
            self._files[policy.compare_to] = changed_files(changes.files)
        return self._files[policy.compare_to]

    def _result(
        self, known: PolicyEntry, path: str, hits: tuple[PatternHit, ...]
    ) -> tuple[PolicyStatus, tuple[str, ...]]:
        """Return the result, with the files or the entry status that explain it."""
        roles = {hit.role for hit in hits}
        if not roles:
            return PolicyStatus.NO_MATCH, ()
        if known.is_off:
            return PolicyStatus.OFF, ()
        if FileRole.TRIGGER not in roles:
            return (PolicyStatus.SAFETY if FileRole.SAFETY in roles else PolicyStatus.EXPECTED), ()
        return self._trigger_result(known.policy, path)

    def _trigger_result(
        self, policy: PolicySyntax, path: str
    ) -> tuple[PolicyStatus, tuple[str, ...]]:
        changes, files = self._change_set(policy), self._changed_files(policy)
        if changes is None or files is None:
            return PolicyStatus.UNKNOWN, ()
        if path not in files:
            return PolicyStatus.UNCHANGED, ()
        if policy.mode is Mode.CREATED and not is_new(files[path]):
            return PolicyStatus.NOT_NEW, ()
        finding = self._finding(policy, changes)
        return self._case_result(policy, path, case_of(policy, finding, files, changes.ref))

    def _finding(self, policy: PolicySyntax, changes: ChangeSet) -> PolicyMatch:
        if policy.id not in self._findings:
            finding = find_match(policy, changes)
            assert finding is not None, "a changed file triggers it"
            self._findings[policy.id] = finding
        return self._findings[policy.id]

    def _case_result(
        self, policy: PolicySyntax, path: str, case: PolicyCase
    ) -> tuple[PolicyStatus, tuple[str, ...]]:
        if path not in case.trigger_files:
            return (
                PolicyStatus.SATISFIED,
                (),
            )  # the group of this file is complete, another group is not
        entry = self._entry_of(case.hash)
        state = state_of(policy, case, entry)
        if case.is_satisfied and state in (None, PolicyState.SATISFIED):
            return PolicyStatus.SATISFIED, case.matched_files if policy.safety else ()
        says = PolicyStatus.SETTLED if state is None else _STATUS_OF_STATE[state]
        if says is PolicyStatus.SETTLED:
            assert entry is not None, "only an entry can resolve it"
            return says, (entry.status.value,)
        lacking = tuple(wanted for file, wanted in case.arrows if file == path)
        return says, lacking if says is PolicyStatus.FIRES else ()


def _hits(policy: PolicySyntax, path: str) -> Iterator[PatternHit]:
    """Yield for each role the first pattern that matches, as the policy itself matches."""
    trigger = matching_trigger(policy, path)
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


def _expected_files(
    policy: PolicySyntax, hits: tuple[PatternHit, ...], files: Mapping[str, ChangedFile] | None
) -> Iterator[ExpectedFile]:
    hit = next((one for one in hits if one.role is FileRole.TRIGGER), None)
    if hit is None or policy.mode not in (Mode.SET, Mode.PAIR):
        return
    others = policy.expects or [one for one in policy.trigger if one != hit.pattern]
    for text in others:
        wanted = pattern(text).resolve(hit.captures)
        if files is None:
            yield ExpectedFile(wanted.text, None)
        else:
            is_there = wanted.text in files if wanted.literal else any(map(wanted.match, files))
            yield ExpectedFile(wanted.text, is_there)


def policy_message_lines(policy: PolicySyntax, changes: ChangeSet) -> list[str]:
    """Return the arrows of a correspondence and the instructions, or [] if satisfied."""
    finding = find_match(policy, changes)
    if finding is None or finding.is_satisfied:
        return []
    arrows = [arrow_line(*pair) for pair in finding.arrows]
    every = max(len(finding.trigger_files), len(finding.missing))
    body = fill_instructions(policy.body, finding.trigger_files, finding.missing, every)
    told = [visible_once(line) for line in body.split("\n")] if body else []
    return [*arrows, *([""] if arrows and told else []), *told]
