"""Changed files × policies → what each policy finds: violated, satisfied, or nothing.

Each changed file is looked up once for all policies, in one index of their patterns. Expected
files are computed and looked up, so the work grows with the number of files, not with its square.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from bylaw.languages.file_policies.syntax import Mode
from bylaw.model.facts import ChangedFile, ChangeSet
from bylaw.model.vocabulary import FileStatus
from bylaw.paths import Pattern, is_normalised, normalise
from bylaw.paths import pattern as read_pattern
from bylaw.paths.index import PathIndex
from bylaw.paths.syntax import Literal, Wildcard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bylaw.languages.file_policies.syntax import PolicySyntax

# A path, and the number of the trigger pattern that it matches. `_SAFETY_MARK` marks a safety file,
# `EXPECTED_MARK` a file that a pair expects.
Hit: TypeAlias = tuple[str, int]
_SAFETY_MARK, EXPECTED_MARK = -1, -2
MAX_KNOWN = 10_000  # patterns


@lru_cache(MAX_KNOWN)
def pattern(text: str) -> Pattern:
    """Parse a pattern; equal texts are parsed once. A PatternError is not cached."""
    return read_pattern(text)


class TriggerMatches(Struct, frozen=True):
    """Changed files by path, and those that the patterns of each policy match."""

    files: Mapping[str, ChangedFile]
    triggers: Mapping[str, Sequence[Hit]]
    safety: Mapping[str, Sequence[str]]


class TriggerIndex:
    """An index of the patterns of several policies. Results are by policy identifier."""

    def __init__(self, policies: Iterable[PolicySyntax]) -> None:
        self._policies = tuple(policies)
        self._last: dict[str, tuple[ChangeSet, TriggerMatches]] = {}

    @cached_property
    def _entries(self) -> list[tuple[str, int, Pattern]]:
        return [entry for policy in self._policies for entry in _entries(policy)]

    @cached_property
    def _index(self) -> PathIndex:
        return PathIndex([one for _, _, one in self._entries])

    def hits(self, changes: ChangeSet, compared_to: str = "") -> TriggerMatches:
        """Return the files of each policy; keep the result for the newest changes of a baseline."""
        known = self._last.get(compared_to)
        if known is None or known[0] is not changes:
            known = self._last[compared_to] = (
                changes,
                self._find_matches(changed_files(changes.files)),
            )
        return known[1]

    def _find_matches(self, files: dict[str, ChangedFile]) -> TriggerMatches:
        triggers: dict[str, list[Hit]] = {}
        safety: dict[str, dict[str, None]] = {}
        for path in files:
            for number in self._index.matching(path):
                policy, place, _ = self._entries[number]
                if place == _SAFETY_MARK:
                    safety.setdefault(policy, {})[path] = None
                    continue
                found = triggers.setdefault(policy, [])
                # Numbers ascend, so the pattern of a policy with the most fixed text comes first.
                if not found or found[-1][0] != path:
                    found.append((path, place))
        return TriggerMatches(
            files, triggers, {policy: list(found) for policy, found in safety.items()}
        )


def _entries(policy: PolicySyntax) -> Iterator[tuple[str, int, Pattern]]:
    for place, made in _patterns_by_fixed_text(policy):
        yield policy.id, place, made
    for text in policy.safety:
        yield policy.id, _SAFETY_MARK, pattern(text)


def matching_trigger(policy: PolicySyntax, path: str) -> str | None:
    """Return the pattern by which a file triggers the policy; None if it cannot trigger it."""
    places = (
        place for place, made in _patterns_by_fixed_text(policy) if made.match(path) is not None
    )
    place = next(places, EXPECTED_MARK)
    return None if place == EXPECTED_MARK else policy.trigger[place]


def _patterns_by_fixed_text(policy: PolicySyntax) -> list[tuple[int, Pattern]]:
    """Return the patterns that a file may match, those with more fixed text first.

    `a_test.go` matches `{path}_test.go` and not `{path}.go`, in any order of the patterns. So a
    file that a pair expects is not a trigger, even if the trigger pattern is wider (DW-015).
    """
    found = [(place, pattern(text)) for place, text in enumerate(policy.trigger)]
    if policy.mode not in (Mode.SET, Mode.PAIR):
        return found  # here it does not matter which pattern matches
    if policy.mode is Mode.PAIR:
        # A pattern without variables would expect at most itself.
        expected = [made for made in map(pattern, policy.expects) if made.variables]
        found += [(EXPECTED_MARK, made) for made in expected if made.fixed > found[0][1].fixed]
    return sorted(found, key=lambda one: -one[1].fixed)


def changed_files(files: Iterable[ChangedFile]) -> dict[str, ChangedFile]:
    """Return files by normalised path. A rename has both names; paths outside are left out."""
    found: dict[str, ChangedFile] = {}
    for file in files:
        _add(found, file.path, file)
        if file.status is FileStatus.RENAMED and file.old_path:
            _add(found, file.old_path, ChangedFile(path=file.old_path, status=FileStatus.DELETED))
    return found


def _add(found: dict[str, ChangedFile], written: str, file: ChangedFile) -> None:
    path = written if is_normalised(written) else normalise(written)
    known = None if path is None else found.get(path)
    if path is not None and (known is None or known.status is FileStatus.DELETED):
        found[path] = file


def is_new(file: ChangedFile) -> bool:
    """Return whether the baseline has no file with this name."""
    return file.status in (FileStatus.ADDED, FileStatus.RENAMED)


class PolicyMatch(Struct, frozen=True, kw_only=True):
    """What a policy finds in changes that trigger it: it is satisfied or violated.

    All lists are sorted and have no duplicates.

    `expected_files` should all have changed; a glob is listed as written. `matched_files` are
    those that did change, or the safety files. `arrows` are pairs of a changed file and an
    expected file that did not change.
    """

    is_satisfied: bool
    trigger_files: tuple[str, ...]
    expected_files: tuple[str, ...] = ()
    matched_files: tuple[str, ...] = ()
    arrows: tuple[tuple[str, str], ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The expected files that did not change."""
        return tuple(sorted({expected for _, expected in self.arrows}))

    @property
    def paths(self) -> tuple[str, ...]:
        """All files that the finding depends on."""
        return (*self.trigger_files, *self.expected_files, *self.matched_files)


def find_match(policy: PolicySyntax, changes: ChangeSet) -> PolicyMatch | None:
    """Return what one policy finds in some changes; None if nothing triggers it."""
    return Correspondence(policy).find(TriggerIndex([policy]).hits(changes))


class Correspondence(Struct, frozen=True, dict=True):
    """A policy with its parsed patterns."""

    policy: PolicySyntax

    def find(self, hits: TriggerMatches) -> PolicyMatch | None:
        """Return what the policy finds; None if nothing triggers it."""
        triggered = hits.triggers.get(self.policy.id, ())
        if self.policy.mode is Mode.PAIR:
            triggered = [hit for hit in triggered if hit[1] != EXPECTED_MARK]
        if self.policy.mode is Mode.CREATED:
            triggered = [hit for hit in triggered if is_new(hits.files[hit[0]])]
        if not triggered:
            return None
        if self.policy.mode in (Mode.SET, Mode.PAIR):
            return self._compare(list(self._groups(triggered)), hits.files)
        safe = hits.safety.get(self.policy.id, ())
        return PolicyMatch(
            is_satisfied=bool(safe),
            trigger_files=_sorted_unique(path for path, _ in triggered),
            matched_files=_sorted_unique(safe),
        )

    @cached_property
    def _triggers(self) -> tuple[Pattern, ...]:
        return tuple(pattern(text) for text in self.policy.trigger)

    @cached_property
    def _slots(self) -> tuple[_Slot, ...]:
        """The patterns that a group must fill: all of a set, the expected ones of a pair."""
        policy = self.policy
        texts = policy.trigger if policy.mode is Mode.SET else policy.expects
        return tuple(_Slot(pattern(text)) for text in texts)

    def _groups(self, triggered: Sequence[Hit]) -> Iterable[_Group]:
        """Group files by their captures."""
        is_set = self.policy.mode is Mode.SET
        groups: dict[tuple[str, ...], _Group] = {}
        for path, number in triggered:
            captures = self._triggers[number].match(path)
            assert captures is not None, "the index says that it matches"
            key = tuple(captures[name] for name in sorted(captures))
            if key not in groups:
                groups[key] = _Group([slot.filled(captures) for slot in self._slots])
            groups[key].members.append((path, number if is_set else _NO_SLOT))
        return groups.values()

    def _compare(self, groups: Sequence[_Group], files: Mapping[str, ChangedFile]) -> PolicyMatch:
        """Return one finding for the incomplete groups, or for all if all are complete (DW-A49)."""
        there = _ChangedWanted(groups, files)
        complete = [group for group in groups if group.is_complete(there)]
        incomplete = [group for group in groups if not group.is_complete(there)]
        if self.policy.mode is Mode.SET:
            incomplete = self._without_expected(incomplete, complete)
        counted = incomplete or complete
        wanted = {one: None for group in counted for one in group.expected()}
        members = (one for group in incomplete or groups for one in group.members)
        arrows = {arrow for group in incomplete for arrow in group.arrows(there)}
        return PolicyMatch(
            is_satisfied=not incomplete,
            trigger_files=_sorted_unique(path for path, _ in members),
            expected_files=_sorted_unique(map(_text, wanted)),
            matched_files=_sorted_unique(path for one in wanted for path in there.changed(one)),
            arrows=tuple(sorted(arrows)),
        )

    def _without_expected(
        self, incomplete: Sequence[_Group], complete: Sequence[_Group]
    ) -> list[_Group]:
        """Return the incomplete groups of a set, without the files that a complete group expects.

        A pattern such as `{a}-{b}` can split a name in two ways. So the captures of a file can
        differ from those of the file that expects it. A file is removed only if the pattern that
        expects it has at least as much fixed text as the pattern that it matched.
        """
        fixed = [one.fixed for one in self._triggers]
        expected: dict[str, int] = {}
        for group in complete:
            for slot, path in enumerate(group.wanted):
                if isinstance(path, str):
                    expected[path] = max(fixed[slot], expected.get(path, 0))

        def is_expected(path: str, own: int) -> bool:
            return expected.get(path, -1) >= fixed[own]

        left = [
            _Group(group.wanted, [one for one in group.members if not is_expected(*one)])
            for group in incomplete
        ]
        return [group for group in left if group.members]


_NO_SLOT = -1
# What a group expects: a path, or a pattern that any changed file may match.
_Wanted: TypeAlias = "str | Pattern"


class _Slot(Struct, frozen=True, dict=True):
    pattern: Pattern

    def filled(self, captures: Mapping[str, str]) -> _Wanted:
        if self.pattern.has_wildcards:
            return self.pattern.resolve(captures)
        return "".join([captures[part] if named else part for named, part in self._parts])

    @cached_property
    def _parts(self) -> list[tuple[bool, str]]:
        return [
            (True, token.name) if isinstance(token, Wildcard) else (False, token.text)
            for token in self.pattern.tokens
            if isinstance(token, Wildcard | Literal)
        ]


class _Group(Struct):
    """What the members of a group expect, slot by slot. A member of a set fills one slot itself."""

    wanted: list[_Wanted]
    members: list[Hit] = field(default_factory=list)

    def expected(self) -> list[_Wanted]:
        """Return what at least one member expects."""
        own = {slot for _, slot in self.members}
        only = own.pop() if len(own) == 1 else _NO_SLOT
        return [one for slot, one in enumerate(self.wanted) if slot != only]

    def is_complete(self, there: _ChangedWanted) -> bool:
        return not any(self.arrows(there))

    def arrows(self, there: _ChangedWanted) -> Iterator[tuple[str, str]]:
        lacking = [
            (slot, _text(one)) for slot, one in enumerate(self.wanted) if not there.changed(one)
        ]
        for path, own in self.members:
            yield from ((path, text) for slot, text in lacking if slot != own)


class _ChangedWanted:
    """Looks up which of the wanted files changed."""

    def __init__(self, groups: Iterable[_Group], files: Mapping[str, ChangedFile]) -> None:
        globs = {one: None for group in groups for one in group.wanted if isinstance(one, Pattern)}
        self._files = files
        self._by_glob: dict[Pattern, list[str]] = {one: [] for one in globs}
        if globs:
            self._look_up(list(globs))

    def _look_up(self, globs: list[Pattern]) -> None:
        index = PathIndex(globs)
        for path in self._files:
            for number in index.matching(path):
                self._by_glob[globs[number]].append(path)

    def changed(self, wanted: _Wanted) -> Sequence[str]:
        """Return the changed files that match what was wanted."""
        if isinstance(wanted, Pattern):
            return self._by_glob[wanted]
        return (wanted,) if wanted in self._files else ()


def _text(wanted: _Wanted) -> str:
    return wanted if isinstance(wanted, str) else wanted.text


def _sorted_unique(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(paths)))
