"""A folder → what changed in its work tree since each baseline (DW-041, DW-050…DW-052).

As a rule at most four processes, however many policies ask and have commands, and none if nobody
does:

    rev-parse     the top of the work tree, which branch to compare with, its merge base with HEAD
    status        HEAD, the index, the work tree, untracked files
    diff-tree     HEAD against all baselines at once, if any is another commit; all files of HEAD,
                  if commands wrote one that was as committed
    check-ignore  which of the files that commands made are ignored, if they made any

The last two go on running as long as there may be questions. What commands change is found by
looking at files, see `tree_watch`; the status that counts after them is worked out, see
`patched_status`.

Git is asked once more, or twice (`docs/policies.md` tells users how often)

- where another branch than the likely one is the default, or none (`rev-list`: the first commit);
- where the settings of the repository include other files, before each status;
- where there is no commit, or was none when a prompt was submitted;
- where there is nothing to look at: for why;
- after commands, if files alone do not tell what git makes of them: the index was written, HEAD was
  moved, a mode or a kind of file was changed, or a tracked file that holds carriage returns or
  `$Id`;
- after commands that changed a file that was as committed, or made one, if the index is in another
  form than git writes by itself: `--skip-worktree`, sparse checkouts, `add -N`,
  `feature.manyFiles`;
- after each command that changed a `.gitignore` in a folder that was there before, or
  `.git/info/exclude`: for what is ignored now, and then perhaps again for what comes;
- each time that another process of Bylaw ran commands in the meantime, or something went wrong
  beside our own: nobody here has seen what they did;
- where somebody asks for the `drift` who has not said so, or does so again after
  `take_in_commands`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.hosts.worktree.baselines import write_baseline
from bylaw.hosts.worktree.git.git import Git
from bylaw.hosts.worktree.git.path_text import fact_path_of
from bylaw.hosts.worktree.git.repository import find_repository
from bylaw.hosts.worktree.git.tree_state import TreeState
from bylaw.hosts.worktree.git.tree_watch import TreeWatch
from bylaw.model.facts import Changes
from bylaw.runtime.root import absolute

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from bylaw.dialects.file_policies.written import CompareTo
    from bylaw.hosts.worktree.git.repository import Repository


class WorkTree:
    """The work tree of a folder, looked at once; after `forget` it is looked at again.

    Whoever may ask for the `drift` better says so by `may_run` before: else git is asked twice.
    Everything here raises BylawError if git cannot tell.
    """

    def __init__(self, start: str = ".", program: str = "") -> None:
        self.may_run = False
        self._start = absolute(start)
        self._program = program
        # Each of them is made when it is first needed.
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
        """How many processes it took so far."""
        return 0 if self._git is None else self._git.count

    @property
    def notes(self) -> tuple[str, ...]:
        """What was compared where it is not what one would expect."""
        return () if self._state is None else tuple(self._state.notes)

    def changes(self, wanted: Collection[CompareTo], session: str = "") -> Changes:
        """The files that differ from these baselines; `session` says whose prompt counts."""
        return self._ready_state().changes(wanted, session) if wanted else Changes()

    @property
    def last_drift(self) -> Mapping[str, str] | None:
        """What `drift` gave last; None if nobody has asked since everything was forgotten."""
        return None if self._watch is None else self._watch.last_drift

    def drift(self) -> Mapping[str, str]:
        """Digests of all files that are not what they were when this was first asked, by path.

        The empty text for what is gone. Two of them tell what was done in between (DW-A22).
        """
        if self._watch is None:
            self._watch = self._new_watch()
        return self._watch.drift()

    def capture(self, now: float | None = None, session: str = "") -> str:
        """Keep the work tree as it is as the baseline of a prompt; the path of the file."""
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
        """Something may have changed: look again, and at all of it."""
        self.hang_up()
        self._watch = self._state = self._repository = None

    def take_in_commands(self) -> None:
        """See what commands did; if nobody asked for the `drift`, none has done anything."""
        watch, self._watch = self._watch, None
        if watch is not None:
            self._state = self._ready_state().taken_anew(watch.status())

    def hang_up(self) -> None:
        """Nobody will ask git for a while: what still runs of it ends."""
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
        # Nobody has said that commands may run, or the status was worked out after some that did.
        if not self._ready_state().can_be_watched:
            self._state = self._new_state(lists_ignored=True)
        return TreeWatch(self._ready_git(), self._ready_repository(), self._ready_state())
