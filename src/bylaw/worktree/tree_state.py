"""The work tree of a repository at one moment, compared with its baselines.

One process returns the status, and one the differences of all baselines (DW-130). A file is
compared by way of HEAD. Contents are compared only if the baseline and the work tree both differ
from HEAD, or the index has a third version: a commit that is reverted in the work tree changes
nothing. A file also counts as changed if only its index version differs from the baseline, because
the next commit takes its files from the index.
"""

from __future__ import annotations

import secrets
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET

from bylaw.languages.file_policies.syntax import CompareTo
from bylaw.model.facts import ChangedFile, Changes, ChangeSet
from bylaw.model.vocabulary import FileStatus
from bylaw.worktree.baselines import latest_baseline
from bylaw.worktree.git import fact_path_of, file_bytes
from bylaw.worktree.git_status import (
    CommitFiles,
    Contents,
    Version,
    committed_digest,
    is_ours,
    read_differences,
    read_gitlinks,
    read_status,
)
from bylaw.worktree.repository import disable_filters, tip_and_merge_bases
from bylaw.worktree.tree_walk import FileClock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from bylaw.worktree.baselines import CapturedBaseline
    from bylaw.worktree.git import Git
    from bylaw.worktree.git_status import Difference, DirtyFile, GitStatus
    from bylaw.worktree.repository import FileStamp, Repository


class Comparison:
    """Compares the present work tree with commits and captured files."""

    def __init__(self, status: GitStatus, contents: Contents) -> None:
        self._dirty = status.files
        self._contents = contents

    def changed(
        self, differences: Mapping[bytes, Difference], without: Collection[bytes] = ()
    ) -> list[ChangedFile]:
        """Return the files that differ from a commit, sorted.

        `differences` are those between the commit and HEAD. Paths in `without` are left out.
        """
        paths = self._dirty.keys() | differences.keys()
        todo = sorted(paths.difference(without))
        found = (self._compare(path, differences.get(path)) for path in todo)
        return [change for change in found if change is not None]

    def changed_since(self, digests: Mapping[bytes, str]) -> list[ChangedFile]:
        """Return the files whose content differs from the captured digest."""
        todo = sorted((path, digest) for path, digest in digests.items() if not is_ours(path))
        found = (self._compare_digest(path, digest) for path, digest in todo)
        return [change for change in found if change is not None]

    def only_in_index(
        self, differences: Mapping[bytes, Difference], known: Mapping[bytes, str]
    ) -> list[ChangedFile]:
        """Return the files whose index version is neither in the commit nor in the work tree.

        `known` are digests of staged versions at the baseline. They are not changes.
        """
        found = []
        for path, dirty in self._dirty.items():
            if not dirty.differs_from_index:
                continue
            then = differences[path].old if path in differences else dirty.head
            digest = staged_digest(dirty)
            if dirty.index != then and known.get(path) != digest:
                found.append(_changed_file(path, is_new=then is None, digest=digest))
        return found

    def _compare_digest(self, path: bytes, then: str) -> ChangedFile | None:
        now = self._contents.of(path).digest
        return None if then == now else _changed_file(path, is_new=not then, digest=now)

    def _compare(self, path: bytes, difference: Difference | None) -> ChangedFile | None:
        dirty = self._dirty.get(path)
        if dirty is None:
            assert difference is not None
            return self._compare_clean(path, difference)
        then = dirty.head if difference is None else difference.old
        if not dirty.is_there:
            return None if then is None else _changed_file(path, is_new=False, digest="")
        if then is not None and self._is_same(path, dirty, then, difference):
            return None
        digest = self._contents.of(path).digest
        # The file may have been removed since git read the status.
        if not digest:
            return None if then is None else _changed_file(path, is_new=False, digest="")
        return _changed_file(path, is_new=then is None, digest=digest)

    def _compare_clean(self, path: bytes, difference: Difference) -> ChangedFile | None:
        now = difference.new
        if now is None:
            return _changed_file(path, is_new=False, digest="")
        # A file that is not checked out still has the content of the commit.
        digest = self._contents.of(path).digest or committed_digest(now)
        return _changed_file(path, is_new=difference.old is None, digest=digest)

    def _is_same(
        self, path: bytes, dirty: DirtyFile, then: Version, difference: Difference | None
    ) -> bool:
        if dirty.as_in_index:
            return dirty.index == then
        if difference is None and dirty.index == dirty.head:
            return False  # git has already compared them
        now = self._contents.of(path).version
        # Git can be configured to ignore modes.
        return now is not None and Version(dirty.mode or now.mode, now.name) == then


def _changed_file(path: bytes, *, is_new: bool, digest: str) -> ChangedFile:
    status = FileStatus.ADDED if is_new else FileStatus.MODIFIED
    if not digest:
        status = FileStatus.DELETED
    return ChangedFile(path=fact_path_of(path), status=status, digest=digest)


def staged_digest(dirty: DirtyFile) -> str:
    """Return the digest of the staged version, empty for a removal."""
    return "" if dirty.index is None else committed_digest(dirty.index)


def sorted_changes(
    files: Iterable[ChangedFile], staged: Iterable[ChangedFile] = ()
) -> tuple[ChangedFile, ...]:
    """Sort changes by path. The work tree wins if a file is in both lists."""
    by_path = {file.path: file for file in (*staged, *files)}
    return tuple(by_path[path] for path in sorted(by_path))


_STATUS = ("status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames",
           "--untracked-files=all", "--ignore-submodules=dirty")  # fmt: skip
# Git lists a folder that is ignored completely as one path, and does not enter it.
_WITH_IGNORED = (*_STATUS, "--ignored=matching")
# For each input line `BASELINE HEAD`, git writes the name of the baseline and its differences.
_DIFFERENCES = ("diff-tree", "--stdin", "--always", "-R", "-r", "-z", "--raw", "--no-abbrev",
                "--no-renames", "--no-ext-diff", "--no-textconv",
                "--ignore-submodules=none")  # fmt: skip


class _BaseCommits(NamedTuple):
    """The commits of the baselines `base` and `default_tip`."""

    base: str
    tip: str


class StatusAnswer(NamedTuple):
    """A status from git, with what is needed to see whether anything has changed since.

    `began` is a time before git was started. The stamps are those of the index and of
    `.git/info/exclude` at that time, None for a missing file.
    """

    status: GitStatus
    began: FileClock
    index_stamp: FileStamp | None
    exclude_stamp: FileStamp | None


class TreeState:
    """The state of a work tree. `notes` report comparisons with another commit than expected.

    Git is asked for the status when it is first needed, unless a computed one is given. A state
    with a computed status cannot be watched, because it is not known when that status was true.
    """

    def __init__(
        self,
        git: Git,
        repository: Repository,
        *,
        lists_ignored: bool = False,
        status: GitStatus | None = None,
    ) -> None:
        self.notes: list[str] = []
        self._computed_status = status
        self._answer: StatusAnswer | None = None
        self._known_base_commits: _BaseCommits | None = None
        self._git = git
        self._repository = repository
        self.lists_ignored = lists_ignored
        self._contents = Contents(repository.root, repository.hash)
        self._known: dict[str, dict[bytes, Difference]] = {}
        self._trees = {"": repository.empty_tree}  # the tree used if there is no commit
        if repository.comparison is not None:
            self._trees[repository.comparison.head] = repository.comparison.tree
        self._prompts: dict[str, CapturedBaseline | None] = {}

    @property
    def status(self) -> GitStatus:
        """The work tree and the index against HEAD."""
        return (
            self.status_answer().status if self._computed_status is None else self._computed_status
        )

    @property
    def can_be_watched(self) -> bool:
        """Whether the status comes from git and includes ignored files."""
        return self.lists_ignored and self._computed_status is None

    def status_answer(self) -> StatusAnswer:
        """Return the status from git, asked once. Raise ValueError if a computed one was given."""
        if self._computed_status is not None:
            raise ValueError("the status of this state was computed, not read from git")
        if self._answer is None:
            began = FileClock()
            index, exclude = self._repository.index_stamp(), self._repository.exclude_stamp()
            disable_filters(self._git, self._repository)
            question = _WITH_IGNORED if self.lists_ignored else _STATUS
            status = read_status(self._git.output(self._repository.root, *question))
            self._answer = StatusAnswer(status, began, index, exclude)
        return self._answer

    def recorded_repositories(self) -> list[bytes]:
        """Return the nested repositories in the index."""
        return read_gitlinks(self._git.output(self._repository.root, "ls-files", "--stage", "-z"))

    def refreshed(self, status: GitStatus | None = None) -> TreeState:
        """Return a new state of the present files. Without `status`, git is asked for it."""
        ignored = self.lists_ignored
        state = TreeState(self._git, self._repository, lists_ignored=ignored, status=status)
        has_status = self._computed_status is not None or self._answer is not None
        if has_status and state.status.commit == self.status.commit:
            state._known, state._prompts = self._known, self._prompts
            state._known_base_commits = self._known_base_commits
        return state

    @cached_property
    def committed(self) -> CommitFiles:
        """All files of HEAD."""
        request = f"{self._repository.empty_tree} {self._find_tree(self.status.commit)}"
        return CommitFiles(self._diff_trees([request]) if self.status.commit else b"")

    def changes(self, wanted: Collection[CompareTo], session: str) -> Changes:
        """Compare the work tree with baselines. Raise BylawError if git fails."""
        prompt = self._prompt_baseline(session) if CompareTo.PROMPT in wanted else None
        commits = {name: self._commit(name, prompt) for name in CompareTo if name in wanted}
        self._load_differences(set(commits.values()))
        sets = {name: self._change_set(name, commit, prompt) for name, commit in commits.items()}
        return Changes(
            base=sets.get(CompareTo.BASE, UNSET),
            default_tip=sets.get(CompareTo.DEFAULT_TIP, UNSET),
            prompt=sets.get(CompareTo.PROMPT, UNSET),
        )

    def since(self, commit: str, captured: Mapping[bytes, str]) -> list[ChangedFile]:
        """Return the changes since a commit and captured files.

        `captured` has the digests of files that differed from the commit at that time. If the
        commit is gone, HEAD is used instead.
        """
        self._load_differences({commit})
        return self._changes_since(commit, captured)

    def version_in(self, commit: str, path: bytes) -> Version | None:
        """Return the version of a file in a commit that was compared before, or None."""
        difference = self._known.get(commit, {}).get(path)
        dirty = self.status.files.get(path)
        return difference.old if difference else dirty.head if dirty else None

    def version_now(self, path: bytes) -> Version | None:
        """Return the version of a file in the work tree, or None."""
        return self._contents.of(path).version

    def digest_now(self, path: bytes) -> str:
        """Return the digest of a file in the work tree, empty if it is gone."""
        return self._contents.of(path).digest

    def digests(self) -> dict[str, str]:
        """Return the digests of all files that differ from HEAD, empty for a file that is gone."""
        return {
            fact_path_of(path): self._contents.of(path).digest if dirty.is_there else ""
            for path, dirty in self.status.files.items()
        }

    def staged(self) -> dict[str, str]:
        """Return digests of staged versions that the work tree does not have, empty if removed."""
        return {
            fact_path_of(path): staged_digest(dirty)
            for path, dirty in self.status.files.items()
            if dirty.is_only_staged
        }

    def _prompt_baseline(self, session: str) -> CapturedBaseline | None:
        if session not in self._prompts:
            found = latest_baseline(self._repository.root, self.notes, session)
            if found is None:
                self.notes.append("no prompt was captured: `prompt` is compared with HEAD")
            self._prompts[session] = found
        return self._prompts[session]

    @cached_property
    def _comparison(self) -> Comparison:
        return Comparison(self.status, self._contents)

    def _commit(self, name: CompareTo, prompt: CapturedBaseline | None) -> str:
        """Return the commit of a baseline, empty if there is none."""
        if name is CompareTo.PROMPT:
            return self.status.commit if prompt is None else prompt.baseline.commit
        return self._base_commits.base if name is CompareTo.BASE else self._base_commits.tip

    @property
    def _base_commits(self) -> _BaseCommits:
        if self._known_base_commits is None:
            self._known_base_commits = self._find_base_commits()
        return self._known_base_commits

    def _find_base_commits(self) -> _BaseCommits:
        head, default = self.status.commit, self._repository.default
        if not (head or default):
            self.notes.append("HEAD has no commit yet: every file is new")
            return _BaseCommits("", "")
        if not default:
            self.notes.append("default branch not found: compared with the first commit")
            return self._first_commit(head)
        if not default.startswith("refs/remotes/"):
            self.notes.append(f"no remote has a default branch: compared with `{default}`")
        tip, bases = self._tip_and_merge_bases(default, head)
        if not bases:
            where = " in this shallow clone" if self._repository.is_shallow else ""
            how = f"`base` is compared with the tip of `{default}`"
            self.notes.append(f"HEAD and the default branch share no commit{where}: {how}")
        return _BaseCommits(bases[0] if bases else tip, tip)

    def _tip_and_merge_bases(self, default: str, head: str) -> tuple[str, tuple[str, ...]]:
        known = self._repository.comparison_with(default, head)
        if known is not None:
            return known.tip, known.merge_bases
        if not head:
            return self._resolve_tip(default), ()
        output = self._git.output(self._repository.root, "rev-parse", f"{default}...{head}")
        return tip_and_merge_bases(output.decode().split())

    def _resolve_tip(self, branch: str) -> str:
        """Return the commit of a branch if there is no HEAD; its tree is needed to compare it."""
        output = self._git.output(self._repository.root, "rev-parse", branch, f"{branch}^{{tree}}")
        tip, tree = output.decode().split()
        self._trees[tip] = tree
        return tip

    def _first_commit(self, head: str) -> _BaseCommits:
        question = ("rev-list", "--first-parent", "--max-parents=0", head)
        first = self._git.output(self._repository.root, *question).decode().strip()
        return _BaseCommits(first, first)

    def _change_set(
        self, name: CompareTo, commit: str, prompt: CapturedBaseline | None
    ) -> ChangeSet:
        compare = self._comparison
        if name is not CompareTo.PROMPT or prompt is None:
            ref = commit or self._repository.empty_tree
            known = self._known[commit]
            return ChangeSet(
                ref=ref,
                files=sorted_changes(compare.changed(known), compare.only_in_index(known, {})),
            )
        then, staged = _by_git_path(prompt.baseline.digests), _by_git_path(prompt.baseline.staged)
        if commit not in self._known:
            self.notes.append("the commit of the last prompt is gone: HEAD is used instead")
        known = self._known.get(commit, {})
        files = sorted_changes(
            self._changes_since(commit, then), compare.only_in_index(known, staged)
        )
        return ChangeSet(ref=prompt.ref, files=files)

    def _changes_since(self, commit: str, captured: Mapping[bytes, str]) -> list[ChangedFile]:
        differences = self._known.get(commit, {})
        changed = self._comparison.changed(differences, without=captured)
        return [*changed, *self._comparison.changed_since(captured)]

    def _load_differences(self, commits: set[str]) -> None:
        """Read how HEAD differs from these commits, in one process."""
        self._known.setdefault(self.status.commit, {})
        requests = {one: self._request(one) for one in sorted(commits - self._known.keys())}
        if requests:
            found = read_differences(self._diff_trees(requests.values()))
            # Git writes nothing for a commit that does not exist.
            for commit, request in requests.items():
                heading = next((one for one in (commit, request) if one in found), None)
                if heading is not None:
                    self._known[commit] = found[heading]

    def _diff_trees(self, requests: Iterable[str]) -> bytes:
        """Return the differences of pairs of commits or trees. Git echoes any other line."""
        end = f"{secrets.token_hex(8)}.\n"
        question = "".join(f"{one}\n" for one in (*requests,)) + end
        root = self._repository.root
        return self._git.ask(root, *_DIFFERENCES, question=question.encode(), end=end.encode())

    def _request(self, commit: str) -> str:
        """Return the request for `diff-tree`: two commits if both exist, else two trees."""
        head = self.status.commit
        if commit and head:
            return f"{commit} {head}"
        return f"{self._find_tree(head)} {self._find_tree(commit)}"

    def _find_tree(self, commit: str) -> str:
        if commit in self._trees:
            return self._trees[commit]
        written = self._git.run(self._repository.root, "rev-parse", f"{commit}^{{tree}}")
        return commit if written.exit_code else written.output.decode().strip()


def _by_git_path(digests: Mapping[str, str]) -> dict[bytes, str]:
    return {file_bytes(path): digest for path, digest in digests.items()}
