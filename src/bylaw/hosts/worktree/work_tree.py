"""A folder → what changed in its work tree since each baseline (DW-041, DW-050…DW-052).

At most four processes, however many policies ask, and none if nobody does:

    rev-parse    the top of the work tree, and which branch to compare with
    status       HEAD, the index, the work tree, untracked files
    rev-parse    where HEAD left that branch (without a branch `rev-list`: the first commit)
    diff-tree    HEAD against all baselines at once, if any is another commit

Git is asked once more where the settings of the repository include other files, and where there was
no commit when a prompt was submitted, or is none now.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from bylaw.hosts.worktree.baselines import write_baseline
from bylaw.hosts.worktree.git.git import Git
from bylaw.hosts.worktree.git.look import Look
from bylaw.hosts.worktree.git.path_text import fact_path_of
from bylaw.hosts.worktree.git.repository import find_repository
from bylaw.hosts.worktree.prompt_files import SHARED
from bylaw.model.facts import Changes
from bylaw.runtime.root import absolute

if TYPE_CHECKING:
    from collections.abc import Collection

    from bylaw.dialects.file_policies.written import CompareTo
    from bylaw.hosts.worktree.git.repository import Repository


class WorkTree:
    """The work tree of a folder, looked at once; after `forget` it is looked at again.

    Everything here raises BylawError if git cannot tell.
    """

    def __init__(self, start: str = ".", program: str = "") -> None:
        self._start = absolute(start)
        self._program = program

    @property
    def root(self) -> str:
        """The top of the work tree, without links."""
        return self._repository.root

    @property
    def processes(self) -> int:
        """How many processes it took so far."""
        return self._git.count if "_git" in self.__dict__ else 0

    @property
    def notes(self) -> tuple[str, ...]:
        """What was compared where it is not what one would expect."""
        return tuple(self._look.notes) if "_look" in self.__dict__ else ()

    def changes(self, wanted: Collection[CompareTo], owner: str = SHARED) -> Changes:
        """The files that differ from these baselines; `owner` says whose prompt counts."""
        return self._look.changes(wanted, owner) if wanted else Changes()

    def dirty(self) -> dict[str, str]:
        """Digests of all files that are not as in HEAD, by path; the empty text for what is gone.

        Two of them tell what was done to the work tree in between (DW-A22).
        """
        return self._look.digests()

    def capture(self, now: float | None = None, owner: str = SHARED) -> str:
        """Keep the work tree as it is as the baseline of a prompt; the path of the file."""
        status = self._look.status
        return write_baseline(
            self.root,
            commit=status.commit,
            staged=map(fact_path_of, status.staged()),
            untracked=map(fact_path_of, status.untracked()),
            digests=self._look.digests(),
            staged_alone=self._look.staged(),
            now=now,
            owner=owner,
        )

    def forget(self) -> None:
        """Something may have changed: look again."""
        self.__dict__.pop("_look", None)

    @cached_property
    def _git(self) -> Git:
        return Git(self._program)

    @cached_property
    def _repository(self) -> Repository:
        return find_repository(self._git, self._start)

    @cached_property
    def _look(self) -> Look:
        return Look(self._git, self._repository)
