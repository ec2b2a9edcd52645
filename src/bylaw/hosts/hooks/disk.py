"""What changed on disk since a session last looked → `file` events, whoever changed it.

A shell can do anything, and so can a tool that nobody knows. So git is asked what differs: after
every call that may change files, at a prompt and at a stop. Of what git does not tell,
`TreeComparer` finds some; files that are ignored as ever count where a tool names them. Where no
rule is about changes of files nobody looks, and git is not started.

Of very many changes the first are judged and the others wait for the next look; a stop that would
leave some behind is objected to.

These events are judged and recorded; what rules want done about them does the watcher of the bus.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from bylaw.expr.paths import normalise_named
from bylaw.hosts.bus.bus_host import LOCKS
from bylaw.hosts.bus.events import by_its_name, leads_out
from bylaw.hosts.hooks.base import STOPS
from bylaw.hosts.hooks.disk_memory import Changed, DiskMemory, read_memory, too_many_at
from bylaw.hosts.hooks.named_files import may_change_files, named_paths, path_below
from bylaw.hosts.hooks.notes import notes_file
from bylaw.hosts.worktree.git.tree_comparer import TooDirtyError, TreeComparer, TreeMemory
from bylaw.model.errors import BylawError
from bylaw.model.event import File
from bylaw.model.fact_paths import fact_path, file_path
from bylaw.model.facts import LawFacts
from bylaw.model.vocabulary import ActorHint, Change, FileStatus, Kind, Moment
from bylaw.runtime.effects import CLAUDE, CURSOR
from bylaw.runtime.file_digests import FileDigests
from bylaw.runtime.paths import lies_in, name_from, real_path
from bylaw.runtime.shared_files import SharedFiles
from bylaw.runtime.state_folder import STATE, state_folder
from bylaw.tools.printers.wording import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.engine.index import RuleSet
    from bylaw.hosts.hooks.base import Heard
    from bylaw.runtime.configuration import Configuration
    from bylaw.runtime.settings.tables import LawSettings

MAX_KEPT_BYTES = 64 << 20
MAX_NAMED = 1_000  # files that git passes over
LOOK_PATIENCE_S = 30  # git may take a while in a large work tree
# Events of one look: all of them are recorded before the client is answered, and at a stop it waits
# longer.
MAX_EVENTS = 500
MAX_AT_STOP = 5_000
MAX_WAITING = 100_000

# Only these have a name of their own among the hints (LD-014).
_ACTORS = {CLAUDE: ActorHint.CLAUDE, CURSOR: ActorHint.CURSOR}
_AT_WORK = frozenset({Moment.AFTER_TOOL, Moment.STOP, Moment.SUBAGENT_STOP})
_NEVER = frozenset({Moment.SESSION_END, Moment.OTHER})
_WILDCARD = re.compile(r"[*?{]")
_CHANGES = {
    FileStatus.ADDED: Change.CREATED,
    FileStatus.MODIFIED: Change.MODIFIED,
    FileStatus.DELETED: Change.DELETED,
    FileStatus.RENAMED: Change.RENAMED,
}


class Disk:
    """The files of a root, as the sessions of one client see them.

    `note` is told what a person should know.
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
        # As the watcher does: that nobody trusts the roots is found when something would start.
        self._roots = configuration.settings.command.roots
        self._law = law
        self._note = note
        self._excluded = (law.bus, LOCKS, STATE)
        self._beginnings = frozenset(_beginnings(rules))
        self._blind = ""  # why git could tell before, and cannot now
        self._left: DiskMemory | None = None
        # At this look: changes of files that no pattern can name, places that hold too many files.
        self._unmatchable = 0
        self._overfull: list[str] = []

    @property
    def unjudged(self) -> str:
        """Why the last look did not judge every change, empty if it did."""
        return "; ".join(filter(None, (self._blind, self._left.unjudged if self._left else "")))

    def events(self, heard: Heard, session: str) -> Iterator[File]:
        """What happened since the last look; who takes all of it is not told again."""
        if heard.moment in _NEVER or (heard.call and not may_change_files(heard.call)):
            return
        name = notes_file("hook-disk", session)
        # What one call changed must not be told by two that end at the same time.
        with state_folder(self._root) as folder, folder.locked(name, LOOK_PATIENCE_S):
            before = read_memory(folder.read(name, MAX_KEPT_BYTES))
            memory, changes = self._compared(heard, before)
            wanted = self._events_for_rules([*memory.waiting, *changes])
            most = MAX_AT_STOP if heard.moment in STOPS else MAX_EVENTS
            yield from wanted[:most]
            now = self._left = self._leaving(memory, wanted[most:], heard)
            if now != before:
                folder.write(name, msgspec.json.encode(now), lasting=False)

    def _leaving(self, memory: DiskMemory, left: list[File], heard: Heard) -> DiskMemory:
        """With what is still to be judged."""
        if left:
            self._note(f"{number_of(len(left), 'change')} of files wait to be judged")
        if heard.moment is Moment.PROMPT and heard.text:
            memory = msgspec.structs.replace(memory, lost=0, unmatchable=0, overfull=[])
        waiting = [
            Changed(one.change, one.path, one.old_path, one.actor) for one in left[:MAX_WAITING]
        ]
        return msgspec.structs.replace(
            memory,
            waiting=waiting,
            lost=memory.lost + len(left[MAX_WAITING:]),
            unmatchable=memory.unmatchable + self._unmatchable,
            overfull=[*memory.overfull, *self._overfull],
        )

    def _compared(
        self, heard: Heard, before: DiskMemory | None
    ) -> tuple[DiskMemory, list[Changed]]:
        named = list(self._named(heard))
        if heard.moment is Moment.BEFORE_TOOL and before is not None:
            return self._with_named(before, named), []
        kept = before or DiskMemory()
        # If nobody looked before the agent began, what differs from HEAD counts as its work.
        begins = before is None and heard.moment not in _AT_WORK
        tree, by_git, known = self._by_git(kept.tree, begins=begins)
        others = [path for path in dict.fromkeys([*kept.by_tools, *named]) if path not in known]
        by_name = [] if begins else list(self._by_name(kept, others, heard))
        actor = self._actor if heard.moment in _AT_WORK else ActorHint.UNKNOWN
        found = sorted((*by_git, *by_name), key=lambda one: one.path)
        memory = msgspec.structs.replace(kept, tree=tree, by_tools={})
        now = self._with_named(memory, [*kept.by_tools, *named])
        return now, [one._replace(actor=actor) for one in found]

    def _by_git(
        self, earlier: TreeMemory | None, *, begins: bool
    ) -> tuple[TreeMemory | None, list[Changed], set[str]]:
        """What is now, what happened, and all files that git has told of; nothing if it cannot."""
        try:
            comparer = TreeComparer(self._root, self._matters)
            then = earlier or (None if begins else TreeMemory(comparer.commit))
            now, changes = comparer.since(then)
        except BylawError as problem:
            self._note(f"{problem}: changes of files are judged only where a tool names them")
            # Without a repository there is nothing to compare with, and a person was told so.
            if earlier is not None or isinstance(problem, TooDirtyError):
                self._blind = f"{problem}: nobody can tell which files changed since"
            return earlier, [], set()
        self._tell_skipped(now, then)
        below = fact_path(name_from(comparer.repository.root, self._top))
        inside = [
            Changed(
                _CHANGES[one.status],
                _from_folder(below, one.path),
                _from_folder(below, one.old_path),
            )
            for one in changes
        ]
        trees = [tree for tree in (now, then) if tree is not None]
        files = [path for tree in trees for path in (*tree.digests, *tree.untold)]
        known = {_from_folder(below, path) for path in files}
        inside_root = [one for either in inside for one in _at_home(either)]
        return now, inside_root, known.union(*((one.path, one.old_path) for one in inside_root))

    def _tell_skipped(self, now: TreeMemory, then: TreeMemory | None) -> None:
        """Whatever was too much before the agent began is none of its doing."""
        new = [one for one in now.skipped if then is None or one not in then.skipped]
        for one in new:
            self._note(f"{too_many_at(one)}: changes of them are not judged")
        self._overfull = [] if then is None else new

    def _matters(self, path: str) -> bool:
        """Whether a rule may be about the file at a path, or about files below it."""
        inside = f"{path}/"
        found = any(inside.startswith(one) or one.startswith(inside) for one in self._beginnings)
        return found and not self._is_ours(path)

    def _by_name(self, kept: DiskMemory, paths: Iterable[str], heard: Heard) -> Iterator[Changed]:
        digests = FileDigests(self._root)
        for path in paths:
            now = digests.of(file_path(path))
            # Of a file that nobody looked at before, one has to believe the tool.
            then = kept.by_tools.get(path, "?" if heard.moment is Moment.AFTER_TOOL else now)
            if now != then:
                change = Change.MODIFIED if now and then else Change.CREATED
                yield Changed(change if now else Change.DELETED, path)

    def _with_named(self, kept: DiskMemory, paths: list[str]) -> DiskMemory:
        """With the files as they are now; what was noted before stands until the next look."""
        digests = FileDigests(self._root)
        new = [path for path in dict.fromkeys(paths) if path not in kept.by_tools][-MAX_NAMED:]
        named = {**kept.by_tools, **{path: digests.of(file_path(path)) for path in new}}
        return msgspec.structs.replace(kept, by_tools=dict(list(named.items())[-MAX_NAMED:]))

    def _named(self, heard: Heard) -> Iterator[str]:
        """The files below the root that a file tool names."""
        for path in named_paths(heard.call) if heard.call else ():
            inside = path_below(self._top, path, heard.cwd)
            if inside:
                yield fact_path(inside)

    def _events_for_rules(self, changes: list[Changed]) -> list[File]:
        """The events that concern a rule."""
        facts = self._facts() if changes else LawFacts()
        each = dict.fromkeys(changes)
        events = [self._event(one, facts) for one in each if not self._is_ours(one.path)]
        self._unmatchable = sum(_is_unmatchable(one) for one in events)
        return [one for one in events if one.facts.outside or self._concerns_a_rule(one)]

    def _event(self, changed: Changed, facts: LawFacts) -> File:
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
        """LD-A33: nobody's work."""
        return any(lies_in(path, folder) for folder in self._excluded)

    def _concerns_a_rule(self, event: File) -> bool:
        found = self._rules.candidates(event)
        return any(not rule.free for group in found for rule in group.rules)


def _beginnings(rules: RuleSet) -> Iterator[str]:
    """What the paths begin with that rules on files are about: the empty text where any will do."""
    for rule in rules.rules():
        if Kind.FILE in rule.on.kinds and not rule.free:
            yield from (_WILDCARD.split(one, maxsplit=1)[0] for one in rule.filter.paths or ("",))


def _is_unmatchable(event: File) -> bool:
    return normalise_named(event.path, literal=event.facts.literal) is None


def _from_folder(folder: str, path: str) -> str:
    """A path of the work tree as one of a folder in it; the empty text if it lies elsewhere."""
    return name_from(folder, path) if folder else path


def _at_home(changed: Changed) -> Iterator[Changed]:
    """A file that was moved over the edge of the root came or went."""
    if changed.path and changed.change is Change.RENAMED and not changed.old_path:
        yield Changed(Change.CREATED, changed.path)
    elif changed.path:
        yield changed
    elif changed.old_path:
        yield Changed(Change.DELETED, changed.old_path)
