"""Return what changed in the work tree of a folder since each baseline (DW-041, DW-050…DW-052).

Usually at most four git processes run, for any number of policies and commands:

    rev-parse     the top of the work tree, which branch to compare with, its merge base with HEAD
    status        HEAD, the index, the work tree, untracked files
    diff-tree     HEAD against all baselines at once; all files of HEAD, if commands need them
    check-ignore  which of the files that commands created are ignored

The last two keep running while questions may follow. One or two more processes are needed
(`docs/policies.md` has the numbers)

- if the default branch is not the likely one, or there is none (`rev-list`: the first commit);
- if the settings of the repository include other files, before each status;
- if there is no commit, or was none when a prompt was submitted;
- if there is no work tree: to get the reason;
- after commands, if the status cannot be computed from the files alone: the index was written, HEAD
  moved, a mode or a kind of file changed, or a tracked file changed that contains carriage returns
  or `$Id`;
- after commands that changed a file that was as committed, or created one, if the index does not
  have the default format of git: `--skip-worktree`, sparse checkouts, `add -N`,
  `feature.manyFiles`;
- after each command that changed `.git/info/exclude`, or a `.gitignore` in a folder that existed
  before: for the files that are ignored now, and possibly again for new files;
- each time that another process of Bylaw ran commands in the meantime, or our own commands failed
  with an error of Bylaw: what they changed is not known here;
- if `drift` is called without `may_run`, or again after `take_in_commands`.

Also here: the present content digest of an entry. The digest in a step is as old as the facts of
its decision; since then a command (DW-A25) or another process may have changed files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from bylaw.languages.file_policies.evaluation import content_digest, content_files
from bylaw.model.display import file_path
from bylaw.model.facts import Changes, ChangeSet, WorkFacts
from bylaw.paths import normalise_foreign
from bylaw.store.file_digests import FileDigests
from bylaw.store.files import absolute
from bylaw.store.paths import is_inside, real_path
from bylaw.store.safe_paths import open_safe_path
from bylaw.worktree.baselines import write_baseline
from bylaw.worktree.git import Git, fact_path_of
from bylaw.worktree.git_status import is_object_name
from bylaw.worktree.repository import find_repository
from bylaw.worktree.tree_state import TreeState
from bylaw.worktree.tree_watch import TreeWatch

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from bylaw.languages.file_policies.syntax import CompareTo
    from bylaw.model.effects import EntryWrite
    from bylaw.model.event import Event, File
    from bylaw.worktree.entry import QueueEntry
    from bylaw.worktree.repository import Repository


class WorkTree:
    """The work tree of a folder. It is read once, and again after `forget`.

    Set `may_run` first if `drift` may be called, otherwise git is asked twice. All methods raise
    BylawError if git fails.
    """

    def __init__(self, start: str = ".", program: str = "") -> None:
        self.may_run = False
        self._start = absolute(start)
        self._program = program
        # Each is created when it is first needed.
        self._git: Git | None = None
        self._repository: Repository | None = None
        self._state: TreeState | None = None
        self._watch: TreeWatch | None = None

    @property
    def root(self) -> str:
        """The top of the work tree, without links."""
        return self._ready_repository().root

    @property
    def processes(self) -> int:
        """The number of git processes started so far."""
        return 0 if self._git is None else self._git.count

    @property
    def notes(self) -> tuple[str, ...]:
        """Reports of comparisons with another commit than expected."""
        return () if self._state is None else tuple(self._state.notes)

    def changes(self, wanted: Collection[CompareTo], session: str = "") -> Changes:
        """Return the files that differ from these baselines. `session` selects the prompt."""
        return self._ready_state().changes(wanted, session) if wanted else Changes()

    @property
    def last_drift(self) -> Mapping[str, str] | None:
        """The last result of `drift`; None if it was not called since `forget`."""
        return None if self._watch is None else self._watch.last_drift

    def drift(self) -> Mapping[str, str]:
        """Return digests of all files that differ from the first call, by path.

        The digest of a removed file is empty. The difference of two results shows what changed in
        between (DW-A22).
        """
        if self._watch is None:
            self._watch = self._new_watch()
        return self._watch.drift()

    def capture(self, now: float | None = None, session: str = "") -> str:
        """Write the present work tree as the baseline of a prompt. Return the path of the file."""
        state = self._ready_state()
        status = state.status
        return write_baseline(
            self.root,
            commit=status.commit,
            staged=map(fact_path_of, status.staged()),
            untracked=map(fact_path_of, status.untracked()),
            digests=state.digests(),
            staged_alone=state.staged(),
            now=now,
            session=session,
        )

    def forget(self) -> None:
        """Drop everything that was read, because anything may have changed."""
        self.hang_up()
        self._watch = self._state = self._repository = None

    def update_after_commands(self) -> None:
        """Update the state after commands. Without a call of `drift`, no command has run."""
        watch, self._watch = self._watch, None
        if watch is not None:
            self._state = self._ready_state().refreshed(watch.status())

    def hang_up(self) -> None:
        """Stop the git processes that are still running."""
        if self._git is not None:
            self._git.hang_up()

    def _ready_git(self) -> Git:
        if self._git is None:
            self._git = Git(self._program)
        return self._git

    def _ready_repository(self) -> Repository:
        if self._repository is None:
            self._repository = find_repository(self._ready_git(), self._start, compares=True)
        return self._repository

    def _ready_state(self) -> TreeState:
        if self._state is None:
            self._state = self._new_state(lists_ignored=self.may_run)
        return self._state

    def _new_state(self, *, lists_ignored: bool) -> TreeState:
        return TreeState(self._ready_git(), self._ready_repository(), lists_ignored=lists_ignored)

    def _new_watch(self) -> TreeWatch:
        # `may_run` was not set, or the status was computed after commands.
        if not self._ready_state().can_be_watched:
            self._state = self._new_state(lists_ignored=True)
        return TreeWatch(self._ready_git(), self._ready_repository(), self._ready_state())


def present_digest(root: str, event: Event, step: EntryWrite, touched: Collection[str] = ()) -> str:
    """Return the digest that the language would compute now.

    `touched` are files that changed since the facts of the event.
    """
    changes = _recorded_changes(event, step.baseline)
    if changes is None or not step.trigger_files:
        return step.digest
    recorded = {file.path: file.digest for file in changes.files}
    files = FileDigests(root)
    own = (*step.trigger_files, *step.expected_files, *step.matched_files)
    paths = content_files(own, step.command)
    now = {path: files.of(file_path(path)) for path in paths & {*recorded, *touched}}
    kept = {path: digest for path, digest in recorded.items() if is_object_name(digest)}
    return content_digest(paths, now | kept, step.command)


def was_closed_with(entry: QueueEntry, changes: Changes) -> bool:
    """Whether the entry was closed with the contents that its files have in `changes`."""
    then = _change_set(changes, entry.baseline_ref)
    if then is None:
        return False
    digests = {file.path: file.digest for file in then.files}
    own = (*entry.trigger_files, *entry.expected_files, *entry.matched_files)
    return content_digest(own, digests, entry.action_result.command or "") == entry.content_digest


def _recorded_changes(event: Event, ref: str) -> ChangeSet | None:
    facts = event.facts
    if not isinstance(facts, WorkFacts) or facts.changes is UNSET:
        return None
    return _change_set(facts.changes, ref)


def _change_set(changes: Changes, ref: str) -> ChangeSet | None:
    sets = (changes.base, changes.default_tip, changes.prompt)
    return next((one for one in sets if isinstance(one, ChangeSet) and one.ref == ref), None)


def leads_out(root: str, path: str) -> bool:
    """Whether a path below the root leads out of it."""
    try:
        with open_safe_path(root, path, new=True):
            return False
    except ValueError:  # it leads out, or it cannot be entered step by step
        return not is_inside(real_path(f"{root}/{path}"), real_path(root))
    except OSError:
        return False  # it cannot be reached


def by_its_name(event: File) -> File:
    """Set the fact `literal` if normalising would change a path, as with a backslash in a name."""
    names = [path for path in (event.path, event.old_path) if path]
    literal = any(normalise_foreign(path) != path for path in names)
    return replace(event, facts=replace(event.facts, literal=True)) if literal else event
