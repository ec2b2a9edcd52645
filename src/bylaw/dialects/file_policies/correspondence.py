"""Changed files × policy → what the policy finds: violated, satisfied, or nothing at all.

Which files a policy is about, the sieve tells. What is expected of each is computed and looked up,
so that the work grows with the number of files and not with its square.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from bylaw.dialects.file_policies.sieve import EXPECTED, Sieve, is_new, pattern
from bylaw.dialects.file_policies.written import Mode
from bylaw.expr.paths import Pattern
from bylaw.expr.paths.index import PathIndex
from bylaw.expr.paths.parts import Literal, Wildcard

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bylaw.dialects.file_policies.sieve import Hit, Hits
    from bylaw.dialects.file_policies.written import WrittenPolicy
    from bylaw.model.facts import ChangedFile, ChangeSet


class Finding(Struct, frozen=True, kw_only=True):
    """What a policy finds in changes that trigger it: it is satisfied, or else violated.

    All lists are sorted and have nothing twice.

    `expected_files` are all that should have changed, a glob among them as it is written.
    `matched_files` are those of them that did, or the safety files; `arrows` lead from a file to
    what it misses.
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
        """Everything that the finding depends on."""
        return (*self.trigger_files, *self.expected_files, *self.matched_files)


def find(policy: WrittenPolicy, changes: ChangeSet) -> Finding | None:
    """What one policy finds in some changes; None if nothing triggers it."""
    return Correspondence(policy).find(Sieve([policy]).hits(changes))


class Correspondence(Struct, frozen=True, dict=True):
    """A policy with its patterns made ready."""

    policy: WrittenPolicy

    def find(self, hits: Hits) -> Finding | None:
        """What the policy finds; None if nothing triggers it."""
        triggered = hits.triggers.get(self.policy.id, ())
        if self.policy.mode is Mode.PAIR:
            triggered = [hit for hit in triggered if hit[1] != EXPECTED]
        if self.policy.mode is Mode.CREATED:
            triggered = [hit for hit in triggered if is_new(hits.files[hit[0]])]
        if not triggered:
            return None
        if self.policy.mode in (Mode.SET, Mode.PAIR):
            return self._compared(list(self._groups(triggered)), hits.files)
        safe = hits.safety.get(self.policy.id, ())
        return Finding(
            is_satisfied=bool(safe),
            trigger_files=_listed(path for path, _ in triggered),
            matched_files=_listed(safe),
        )

    @cached_property
    def _triggers(self) -> tuple[Pattern, ...]:
        return tuple(pattern(text) for text in self.policy.trigger)

    @cached_property
    def _slots(self) -> tuple[_Slot, ...]:
        """What each group has or lacks: all patterns of a set, the expected ones of a pair."""
        policy = self.policy
        texts = policy.trigger if policy.mode is Mode.SET else policy.expects
        return tuple(_Slot(pattern(text)) for text in texts)

    def _groups(self, triggered: Sequence[Hit]) -> Iterable[_Group]:
        """Files with the same captures belong together."""
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

    def _compared(self, groups: Sequence[_Group], files: Mapping[str, ChangedFile]) -> Finding:
        """One finding for all groups: of the incomplete ones, or of all if none is (DW-A49)."""
        there = _There(groups, files)
        complete = [group for group in groups if group.is_complete(there)]
        incomplete = [group for group in groups if not group.is_complete(there)]
        if self.policy.mode is Mode.SET:
            incomplete = self._without_expected(incomplete, complete)
        counted = incomplete or complete
        wanted = {one: None for group in counted for one in group.expected()}
        members = (one for group in incomplete or groups for one in group.members)
        arrows = {arrow for group in incomplete for arrow in group.arrows(there)}
        return Finding(
            is_satisfied=not incomplete,
            trigger_files=_listed(path for path, _ in members),
            expected_files=_listed(map(_text, wanted)),
            matched_files=_listed(path for one in wanted for path in there.changed(one)),
            arrows=tuple(sorted(arrows)),
        )

    def _without_expected(
        self, incomplete: Sequence[_Group], complete: Sequence[_Group]
    ) -> list[_Group]:
        """The groups of a set without the files that a complete one expects.

        `{a}-{b}` can be parted in two ways, so that a file looks for other files than the one
        that looks for it. A pattern that fits less closely than its own says nothing about it.
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
# What is expected of a group: a path, or a pattern that any changed file may match.
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
    """What its members expect, slot by slot; a member of a set fills one slot itself."""

    wanted: list[_Wanted]
    members: list[Hit] = field(default_factory=list)

    def expected(self) -> list[_Wanted]:
        """What at least one member expects."""
        own = {slot for _, slot in self.members}
        only = own.pop() if len(own) == 1 else _NO_SLOT
        return [one for slot, one in enumerate(self.wanted) if slot != only]

    def is_complete(self, there: _There) -> bool:
        return not any(self.arrows(there))

    def arrows(self, there: _There) -> Iterator[tuple[str, str]]:
        lacking = [
            (slot, _text(one)) for slot, one in enumerate(self.wanted) if not there.changed(one)
        ]
        for path, own in self.members:
            yield from ((path, text) for slot, text in lacking if slot != own)


class _There:
    """Which of the wanted files changed."""

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
        """The changed files that are what was wanted."""
        if isinstance(wanted, Pattern):
            return self._by_glob[wanted]
        return (wanted,) if wanted in self._files else ()


def _text(wanted: _Wanted) -> str:
    return wanted if isinstance(wanted, str) else wanted.text


def _listed(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(paths)))
