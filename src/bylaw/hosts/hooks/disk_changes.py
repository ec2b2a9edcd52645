"""File changes since a session's last check → `file` events.

A shell can change anything, and so can an unknown tool. So Bylaw asks git what differs: after every
call that may change files, at a prompt and at a stop. `TreeComparer` also finds some changes that
git does not report. Files that were always ignored are checked only if a tool names them. If no
rule is about file changes, nothing is checked and git is not started.

If there are very many changes, the first ones are decided and the others wait for the next check. A
stop that would leave changes undecided is denied.

These events are decided and recorded; the watcher of the bus carries out the actions of the rules.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import Struct, field

from bylaw.hosts.clients.base import STOPS
from bylaw.hosts.hooks.events import may_change_files, named_paths, path_below
from bylaw.hosts.hooks.notes import notes_file
from bylaw.model.display import fact_path, file_path, number_of, shown_path
from bylaw.model.errors import BylawError
from bylaw.model.event import File
from bylaw.model.facts import LawFacts
from bylaw.model.vocabulary import ActorHint, Change, FileStatus, HookPoint, Kind
from bylaw.paths import normalise_event_path
from bylaw.runtime.effects import CLAUDE, CURSOR
from bylaw.runtime.shared_context import SharedFiles
from bylaw.store.file_digests import FileDigests
from bylaw.store.locks import LOCKS
from bylaw.store.paths import is_inside, real_path, relative_name
from bylaw.store.state_folder import STATE_FOLDER, state_folder
from bylaw.worktree.changes import by_its_name, leads_out
from bylaw.worktree.tree_diff import (
    MAX_HIDDEN,
    TooDirtyError,
    TreeComparer,
    TreeMemory,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.engine.index import RuleSet
    from bylaw.hosts.clients.base import HookEvent
    from bylaw.runtime.root import Configuration
    from bylaw.runtime.settings import LawSettings

MAX_SHOWN_PLACES = 5  # places in a message


class DiskChange(NamedTuple):
    """What happened to a file, and who may have done it. Paths are relative to the root."""

    change: Change
    path: str
    old_path: str = ""
    actor: ActorHint = ActorHint.UNKNOWN


class DiskMemory(Struct, frozen=True, omit_defaults=True):
    """The last check: `tree` is what git reported, `by_tools` digests of files that tools named.

    `waiting` are changes that are still to be decided. Since the last prompt of a person, `lost`
    counts changes that will never be decided, and `unmatchable` changes of files that no pattern
    can match. `overfull` are places that now have more files than Bylaw checks. In the file, two
    fields have the names that they had first, so that older files stay readable.
    """

    tree: TreeMemory | None = None
    by_tools: dict[str, str] = field(default_factory=dict, name="named")
    waiting: list[DiskChange] = []
    lost: int = 0
    unmatchable: int = field(default=0, name="unnamed")
    overfull: list[str] = []

    @property
    def unjudged(self) -> str:
        """Why not every change was decided; empty if each was."""
        found = [
            f"{too_many_files_text(place)}: check them yourself"
            for place in self.overfull[:MAX_SHOWN_PLACES]
        ]
        for count, what in (
            (len(self.waiting), "not checked yet: stop again to check the next ones"),
            (self.lost, "not checked because there were too many: check the files yourself"),
            (
                self.unmatchable,
                "not checked, path too long for any pattern: check the files yourself",
            ),
        ):
            if count:
                found.append(f"{number_of(count, 'file change')} {what}")
        return "; ".join(found)


def too_many_files_text(place: str) -> str:
    """Say that a place has too many files to check.

    The place may be an ignore file that hides files.
    """
    return f"`{shown_path(place)}`: more than {MAX_HIDDEN:,} files that git does not report"


def decode_memory(data: bytes | None) -> DiskMemory | None:
    """Decode the memory. None if there is none or it is invalid, as before the first check."""
    try:
        return None if data is None else msgspec.json.decode(data, type=DiskMemory)
    except msgspec.MsgspecError:
        return None


MAX_KEPT_BYTES = 64 << 20
MAX_NAMED = 1_000  # files that tools named
CHECK_PATIENCE_S = 30  # git can be slow in a large work tree
# Events of one check. All are recorded before the client gets its answer; at a stop it waits
# longer.
MAX_EVENTS = 500
MAX_AT_STOP = 5_000
MAX_WAITING = 100_000

# Only these clients have an actor hint of their own (LD-014).
_ACTORS = {CLAUDE: ActorHint.CLAUDE, CURSOR: ActorHint.CURSOR}
_AFTER_WORK = frozenset({HookPoint.AFTER_TOOL, HookPoint.STOP, HookPoint.SUBAGENT_STOP})
_NOT_CHECKED = frozenset({HookPoint.SESSION_END, HookPoint.OTHER})
_WILDCARD = re.compile(r"[*?{]")
_CHANGES = {
    FileStatus.ADDED: Change.CREATED,
    FileStatus.MODIFIED: Change.MODIFIED,
    FileStatus.DELETED: Change.DELETED,
    FileStatus.RENAMED: Change.RENAMED,
}


class Disk:
    """The files of a root, as the sessions of one client see them.

    `note` receives messages for the person.
    """

    def __init__(
        self,
        root: str,
        host: str,
        rules: RuleSet,
        configuration: Configuration,
        law: LawSettings,
        note: Callable[[str], None],
    ) -> None:
        self._root = root
        self._top = real_path(root)
        self._actor = _ACTORS.get(host, ActorHint.UNKNOWN)
        self._rules = rules
        # As in the watcher: whether the roots are trusted is checked when a command would start.
        self._roots = configuration.settings.command.roots
        self._law = law
        self._note = note
        self._excluded = (law.bus, LOCKS, STATE_FOLDER)
        self._beginnings = frozenset(_path_prefixes(rules))
        self._blind = ""  # why git cannot report changes any more
        self._left: DiskMemory | None = None
        # In this check: changed files that no pattern can match, places with too many files.
        self._unmatchable = 0
        self._overfull: list[str] = []

    @property
    def unjudged(self) -> str:
        """Why the last check did not decide every change; empty if it did."""
        return "; ".join(filter(None, (self._blind, self._left.unjudged if self._left else "")))

    def events(self, heard: HookEvent, session: str) -> Iterator[File]:
        """Yield what changed since the last check. Take all of it, or it is yielded again."""
        if heard.moment in _NOT_CHECKED or (heard.call and not may_change_files(heard.call)):
            return
        name = notes_file("hook-disk", session)
        # Of two calls that end at the same time, only one may report a change.
        with state_folder(self._root) as folder, folder.lock(name, CHECK_PATIENCE_S):
            before = decode_memory(folder.read(name, MAX_KEPT_BYTES))
            memory, changes = self._compare(heard, before)
            wanted = self._events_for_rules([*memory.waiting, *changes])
            most = MAX_AT_STOP if heard.moment in STOPS else MAX_EVENTS
            yield from wanted[:most]
            now = self._left = self._keep_waiting(memory, wanted[most:], heard)
            if now != before:
                folder.write(name, msgspec.json.encode(now), lasting=False)

    def _keep_waiting(self, memory: DiskMemory, left: list[File], heard: HookEvent) -> DiskMemory:
        """Return the memory with the changes that are still to be decided."""
        if left:
            self._note(f"{number_of(len(left), 'file change')} not checked yet")
        if heard.moment is HookPoint.PROMPT and heard.text:
            memory = msgspec.structs.replace(memory, lost=0, unmatchable=0, overfull=[])
        waiting = [
            DiskChange(one.change, one.path, one.old_path, one.actor) for one in left[:MAX_WAITING]
        ]
        return msgspec.structs.replace(
            memory,
            waiting=waiting,
            lost=memory.lost + len(left[MAX_WAITING:]),
            unmatchable=memory.unmatchable + self._unmatchable,
            overfull=[*memory.overfull, *self._overfull],
        )

    def _compare(
        self, heard: HookEvent, before: DiskMemory | None
    ) -> tuple[DiskMemory, list[DiskChange]]:
        named = list(self._named_files(heard))
        if heard.moment is HookPoint.BEFORE_TOOL and before is not None:
            return self._add_named(before, named), []
        kept = before or DiskMemory()
        # Without a check before the agent started, all differences from HEAD count as its work.
        begins = before is None and heard.moment not in _AFTER_WORK
        tree, by_git, known = self._changes_from_git(kept.tree, begins=begins)
        others = [path for path in dict.fromkeys([*kept.by_tools, *named]) if path not in known]
        by_name = [] if begins else list(self._changes_by_name(kept, others, heard))
        actor = self._actor if heard.moment in _AFTER_WORK else ActorHint.UNKNOWN
        found = sorted((*by_git, *by_name), key=lambda one: one.path)
        memory = msgspec.structs.replace(kept, tree=tree, by_tools={})
        now = self._add_named(memory, [*kept.by_tools, *named])
        return now, [one._replace(actor=actor) for one in found]

    def _changes_from_git(
        self, earlier: TreeMemory | None, *, begins: bool
    ) -> tuple[TreeMemory | None, list[DiskChange], set[str]]:
        """Return the state now, the changes, and all files that git reported.

        No changes if git fails.
        """
        try:
            comparer = TreeComparer(self._root, self._may_matter)
            then = earlier or (None if begins else TreeMemory(comparer.commit))
            now, changes = comparer.since(then)
        except BylawError as problem:
            self._note(f"{problem}: only files that a tool names are checked for changes")
            # Without a repository there is nothing to compare with; the note above says so.
            if earlier is not None or isinstance(problem, TooDirtyError):
                self._blind = f"{problem}: cannot determine what changed since the last check"
            return earlier, [], set()
        self._report_skipped(now, then)
        below = fact_path(relative_name(comparer.repository.root, self._top))
        inside = [
            DiskChange(
                _CHANGES[one.status],
                _relative_to(below, one.path),
                _relative_to(below, one.old_path),
            )
            for one in changes
        ]
        trees = [tree for tree in (now, then) if tree is not None]
        files = [path for tree in trees for path in (*tree.digests, *tree.untold)]
        known = {_relative_to(below, path) for path in files}
        inside_root = [one for either in inside for one in _changes_in_root(either)]
        return now, inside_root, known.union(*((one.path, one.old_path) for one in inside_root))

    def _report_skipped(self, now: TreeMemory, then: TreeMemory | None) -> None:
        """Report places with too many files. Those of the first check do not block a stop."""
        new = [one for one in now.skipped if then is None or one not in then.skipped]
        for one in new:
            self._note(f"{too_many_files_text(one)}: their changes are not checked")
        self._overfull = [] if then is None else new

    def _may_matter(self, path: str) -> bool:
        """Return whether a rule may be about the file at a path, or about files below it."""
        inside = f"{path}/"
        found = any(inside.startswith(one) or one.startswith(inside) for one in self._beginnings)
        return found and not self._is_ours(path)

    def _changes_by_name(
        self, kept: DiskMemory, paths: Iterable[str], heard: HookEvent
    ) -> Iterator[DiskChange]:
        digests = FileDigests(self._root)
        for path in paths:
            now = digests.of(file_path(path))
            # If the file was not checked before, assume that the tool changed it.
            then = kept.by_tools.get(path, "?" if heard.moment is HookPoint.AFTER_TOOL else now)
            if now != then:
                change = Change.MODIFIED if now and then else Change.CREATED
                yield DiskChange(change if now else Change.DELETED, path)

    def _add_named(self, kept: DiskMemory, paths: list[str]) -> DiskMemory:
        """Add the current digests of files. Earlier digests stay until the next check."""
        digests = FileDigests(self._root)
        new = [path for path in dict.fromkeys(paths) if path not in kept.by_tools][-MAX_NAMED:]
        named = {**kept.by_tools, **{path: digests.of(file_path(path)) for path in new}}
        return msgspec.structs.replace(kept, by_tools=dict(list(named.items())[-MAX_NAMED:]))

    def _named_files(self, heard: HookEvent) -> Iterator[str]:
        """Yield the files below the root that a file tool names."""
        for path in named_paths(heard.call) if heard.call else ():
            inside = path_below(self._top, path, heard.cwd)
            if inside:
                yield fact_path(inside)

    def _events_for_rules(self, changes: list[DiskChange]) -> list[File]:
        """Return the events that a rule is about, and those of files outside of the root."""
        facts = self._facts() if changes else LawFacts()
        each = dict.fromkeys(changes)
        events = [self._event(one, facts) for one in each if not self._is_ours(one.path)]
        self._unmatchable = sum(_is_unmatchable(one) for one in events)
        return [one for one in events if one.facts.outside or self._concerns_a_rule(one)]

    def _event(self, changed: DiskChange, facts: LawFacts) -> File:
        path = changed.path
        is_outside = changed.change is not Change.DELETED and leads_out(self._root, file_path(path))
        event = File(
            actor=changed.actor,
            change=changed.change,
            path=path,
            old_path=changed.old_path,
            facts=msgspec.structs.replace(facts, outside=(path,)) if is_outside else facts,
        )
        return by_its_name(event)

    def _facts(self) -> LawFacts:
        return LawFacts(
            phase=SharedFiles(self._root, self._law.bus).context().phase.phase,
            allowed_roots=self._roots,
            policy_mode=self._law.policy_mode,
        )

    def _is_ours(self, path: str) -> bool:
        """Return whether a path belongs to Bylaw, so that no rule is about it (LD-A33)."""
        return any(is_inside(path, folder) for folder in self._excluded)

    def _concerns_a_rule(self, event: File) -> bool:
        found = self._rules.candidates(event)
        return any(not rule.free for group in found for rule in group.rules)


def _path_prefixes(rules: RuleSet) -> Iterator[str]:
    """Yield how the paths of file rules begin. The empty text means that any path is possible."""
    for rule in rules.rules():
        if Kind.FILE in rule.on.kinds and not rule.free:
            yield from (_WILDCARD.split(one, maxsplit=1)[0] for one in rule.filter.paths or ("",))


def _is_unmatchable(event: File) -> bool:
    return normalise_event_path(event.path, literal=event.facts.literal) is None


def _relative_to(folder: str, path: str) -> str:
    """Return a path of the work tree relative to a folder in it; empty if it is outside of it."""
    return relative_name(folder, path) if folder else path


def _changes_in_root(changed: DiskChange) -> Iterator[DiskChange]:
    """Yield a change as the root sees it: moving a file in creates it, moving it out deletes it."""
    if changed.path and changed.change is Change.RENAMED and not changed.old_path:
        yield DiskChange(Change.CREATED, changed.path)
    elif changed.path:
        yield changed
    elif changed.old_path:
        yield DiskChange(Change.DELETED, changed.old_path)
