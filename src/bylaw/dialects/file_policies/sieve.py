"""Changed files × the patterns of all policies → the files that each policy is about.

Each changed file is looked up once for all policies, in one index of their patterns.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from bylaw.dialects.file_policies.written import Mode
from bylaw.expr.paths import Pattern, is_normalised, normalise
from bylaw.expr.paths import pattern as read_pattern
from bylaw.expr.paths.index import PathIndex
from bylaw.model.facts import ChangedFile, ChangeSet
from bylaw.model.vocabulary import FileStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bylaw.dialects.file_policies.written import WrittenPolicy

# A path, and the number of the trigger pattern that it matches. `_SAFETY` marks a safety file,
# `EXPECTED` a file that a pair expects.
Hit: TypeAlias = tuple[str, int]
_SAFETY, EXPECTED = -1, -2
MAX_KNOWN = 10_000  # patterns


@lru_cache(MAX_KNOWN)
def pattern(text: str) -> Pattern:
    """Parse a pattern; equal texts are parsed once. A PatternError is not cached."""
    return read_pattern(text)


class Hits(Struct, frozen=True):
    """Changed files by path, and those that the patterns of each policy match."""

    files: Mapping[str, ChangedFile]
    triggers: Mapping[str, Sequence[Hit]]
    safety: Mapping[str, Sequence[str]]


class Sieve:
    """An index of the patterns of several policies. Results are by policy identifier."""

    def __init__(self, policies: Iterable[WrittenPolicy]) -> None:
        self._policies = tuple(policies)
        self._last: dict[str, tuple[ChangeSet, Hits]] = {}

    @cached_property
    def _entries(self) -> list[tuple[str, int, Pattern]]:
        return [entry for policy in self._policies for entry in _entries(policy)]

    @cached_property
    def _index(self) -> PathIndex:
        return PathIndex([one for _, _, one in self._entries])

    def hits(self, changes: ChangeSet, compared_to: str = "") -> Hits:
        """Return the files of each policy; keep the result for the newest changes of a baseline."""
        known = self._last.get(compared_to)
        if known is None or known[0] is not changes:
            known = self._last[compared_to] = (changes, self._hits(changed_files(changes.files)))
        return known[1]

    def _hits(self, files: dict[str, ChangedFile]) -> Hits:
        triggers: dict[str, list[Hit]] = {}
        safety: dict[str, dict[str, None]] = {}
        for path in files:
            for number in self._index.matching(path):
                policy, place, _ = self._entries[number]
                if place == _SAFETY:
                    safety.setdefault(policy, {})[path] = None
                    continue
                found = triggers.setdefault(policy, [])
                # Numbers ascend, so the pattern of a policy with the most fixed text comes first.
                if not found or found[-1][0] != path:
                    found.append((path, place))
        return Hits(files, triggers, {policy: list(found) for policy, found in safety.items()})


def _entries(policy: WrittenPolicy) -> Iterator[tuple[str, int, Pattern]]:
    for place, made in _closest_first(policy):
        yield policy.id, place, made
    for text in policy.safety:
        yield policy.id, _SAFETY, pattern(text)


def triggered_by(policy: WrittenPolicy, path: str) -> str | None:
    """Return the pattern by which a file triggers the policy; None if it cannot trigger it."""
    places = (place for place, made in _closest_first(policy) if made.match(path) is not None)
    place = next(places, EXPECTED)
    return None if place == EXPECTED else policy.trigger[place]


def _closest_first(policy: WrittenPolicy) -> list[tuple[int, Pattern]]:
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
        found += [(EXPECTED, made) for made in expected if made.fixed > found[0][1].fixed]
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
