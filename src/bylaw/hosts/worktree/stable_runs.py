"""Run the commands of one policy in parallel, and a second time if they changed files.

Changes are found by comparing the complete work tree before and after. The second run must not
change any file again (DW-A22, DW-A24). There is no second run if a command of the first failed, and
never a third.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from shlex import join
from stat import S_IFMT
from threading import Event, Lock
from typing import TYPE_CHECKING

from msgspec import Struct, structs
from msgspec.structs import replace

from bylaw.hosts.worktree.progress import no_words
from bylaw.model.fact_paths import file_path
from bylaw.model.uid import id_of
from bylaw.model.visible import clipped, visible
from bylaw.runtime.paths import as_bytes
from bylaw.runtime.run_command import at_root
from bylaw.runtime.watched.cancellation import Cancellation
from bylaw.runtime.watched.order import Refusal
from bylaw.runtime.watched.result import EXIT_CODE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bylaw.model.effects import CommandRun
    from bylaw.runtime.run_command import CommandRunner
    from bylaw.runtime.watched.result import CommandResult

MAX_RUNS = 1_000
MAX_SIDE_BY_SIDE = 8
MAX_ARGV = 200  # characters of a command in a text about a failure
MAX_NAME = 40  # characters of the name of a policy in a progress text, which is one line

NOT_STARTED = "not started: another run took too long"
NOT_THERE = "`{}` is not in the work tree; if it is staged, restore it or remove it from the index"
TOO_MANY = f"more than {MAX_RUNS:,} files; use `run_for: all_matches`"


class Ran(Struct, frozen=True):
    """The result of the commands of a policy: for each its runs, none if it was not started.

    `changed` are the files that the first run changed, `changed_again` those that the second run
    changed, and `restless` is the command held responsible for it. `gone` are files of the commands
    that were removed, or replaced by something else. `refused` says why no command was run.
    """

    runs: Mapping[CommandRun, tuple[CommandResult, ...]]
    changed: tuple[str, ...] = ()
    changed_again: tuple[str, ...] = ()
    restless: CommandRun | None = None
    gone: frozenset[str] = frozenset()
    refused: str = ""

    def failure(self, step: CommandRun) -> str:
        """Return why one command failed, empty if it did not."""
        runs = self.runs.get(step, ())
        if self.refused or not runs:
            return self.refused or NOT_STARTED
        if runs[-1].error:
            return runs[-1].error + (" when it ran a second time" if len(runs) > 1 else "")
        gone = sorted(self.gone.intersection(step.files))
        if gone:
            return f"`{gone[0]}` is gone: the command removed or renamed it"
        if self.changed_again and step == self.restless:
            first, *others = self.changed_again
            more = f" and {len(others)} more" if others else ""
            return f"`{first}`{more} changed again when the command ran a second time"
        return ""

    @property
    def failed(self) -> list[CommandRun]:
        """The commands that failed."""
        return [step for step in self.runs if self.failure(step)]

    @property
    def summary(self) -> str:
        """Which command failed first, why, and how many more; empty if none failed."""
        if self.refused or not self.failed:
            return f"nothing was run: {self.refused}" if self.refused else ""
        first, *others = self.failed
        failure = self.failure(first)
        how = f" failed with {failure}" if failure.startswith(EXIT_CODE) else f": {failure}"
        more = f", and {len(others):,} more" if others else ""
        return f"`{clipped(visible(join(self.argv(first))), MAX_ARGV)}`{how}{more}"

    def argv(self, step: CommandRun) -> tuple[str, ...]:
        """Return the arguments that were run, or would have been."""
        results = self.runs.get(step)
        return results[-1].argv if results else step.argv

    def of_one(self, step: CommandRun, changed: Sequence[str]) -> tuple[str, ...]:
        """Return the files that a command changed. In parallel runs, only its own are certain."""
        own = changed if len(self.runs) == 1 else {*changed}.intersection(step.files)
        return tuple(sorted(own))

    @property
    def untrusted(self) -> bool:
        """Whether nothing was started because no command is trusted."""
        results = [result for results in self.runs.values() for result in results]
        return bool(results) and all(one.refusal is Refusal.UNTRUSTED for one in results)

    @property
    def started(self) -> bool:
        """Whether any command was started."""
        results = [result for results in self.runs.values() for result in results]
        return any(one.refusal is None for one in results)

    @property
    def touched(self) -> tuple[str, ...]:
        """Changed files that are not files of the commands (DW-A23)."""
        own = {path for step in self.runs for path in step.files}
        return tuple(sorted({*self.changed, *self.changed_again} - own))


def policy_words(uid: str) -> str:
    """Return the name of a policy for a progress text."""
    return f"policy {clipped(visible(id_of(uid)), MAX_NAME)}"


class _Count:
    """Counts and shows the runs that start. Safe for threads."""

    def __init__(self, words: str, total: int, show: Callable[[str], None]) -> None:
        self._words, self._total, self._show = words, total, show
        self._begun = 0
        self._lock = Lock()

    def one_begins(self) -> None:
        with self._lock:
            self._begun += 1
            self._show(f"{self._words}: {self._begun:,} of {self._total:,}")


def nothing_run(steps: Sequence[CommandRun], uid: str, runner: CommandRunner) -> Ran | None:
    """Return the result if no command can be run, else None. Then no comparison is needed."""
    steps = tuple(dict.fromkeys(steps))
    # Check trust first: an entry without trust stays open, even if something else is wrong.
    if refused := runner.refusals(steps, uid):
        return Ran({step: (result,) for step, result in zip(steps, refused, strict=True)})
    if len(steps) > MAX_RUNS:
        return Ran(dict.fromkeys(steps, ()), refused=TOO_MANY)
    absent = [path for path, kind in _kinds(steps, runner.root).items() if kind is None]
    if absent:
        return Ran(dict.fromkeys(steps, ()), refused=NOT_THERE.format(min(absent)))
    return None


def run_and_check_stable(
    steps: Sequence[CommandRun],
    uid: str,
    runner: CommandRunner,
    drift: Callable[[], Mapping[str, str]],
    show: Callable[[str], None] = no_words,
    before: Mapping[str, str] | None = None,
) -> Ran:
    """Run the commands of the rule with that uid; if they changed files, run them a second time.

    `drift` returns digests of files of the work tree by path. `before` is its last result, if
    nothing can have changed since.
    """
    steps, words = tuple(dict.fromkeys(steps)), policy_words(uid)
    kinds = _kinds(steps, runner.root)
    before = drift() if before is None else before
    first = _side_by_side(steps, uid, runner, _Count(words, len(steps), show))
    show(f"{words}: checking what it changed")
    between = drift()
    ran = Ran(
        {step: (result,) if result else () for step, result in zip(steps, first, strict=True)},
        changed=_differing(before, between),
        gone=frozenset(path for path, _ in kinds.items() - _kinds(steps, runner.root).items()),
    )
    must_show_it = any(step.check_idempotent for step in steps)
    if ran.failed or not ran.changed or not must_show_it:
        return ran
    count = _Count(f"{words}, second run", len(steps), show)
    second = _side_by_side(steps, uid, runner, count)
    runs = {
        step: tuple(result for result in results if result)
        for step, *results in zip(steps, first, second, strict=True)
    }
    changed_again = _differing(between, drift())
    return replace(
        ran, runs=runs, changed_again=changed_again, restless=_restless(steps, changed_again)
    )


def _side_by_side(
    steps: Sequence[CommandRun], uid: str, runner: CommandRunner, count: _Count
) -> list[CommandResult | None]:
    """Run each command once. None: it was not started because another one timed out."""
    cancellation = runner.cancellation or Cancellation()
    ours = replace(runner, cancellation=cancellation)
    locks = {path: Lock() for step in steps for path in step.files}
    too_long = Event()
    # Each command waits until the one before it has started, to keep their order (DW-091).
    has_begun = [Event() for _ in steps]

    def run(number: int, step: CommandRun) -> CommandResult | None:
        with ExitStack() as held:
            held.callback(has_begun[number].set)
            if number:
                has_begun[number - 1].wait()
            # Always lock in the same order, so that there is no deadlock (DW-100).
            for path in sorted(set(step.files)):
                held.enter_context(locks[path])
            if too_long.is_set():
                return None
            count.one_begins()
            result = ours.run(_for_the_system(step, runner.root), uid, has_begun[number].set)
            if result.timed_out:
                too_long.set()
            return result

    workers = ThreadPoolExecutor(min(len(steps), MAX_SIDE_BY_SIDE, os.cpu_count() or 1))
    try:
        return list(workers.map(run, range(len(steps)), steps))
    except BaseException:
        cancellation.cancel()
        raise
    finally:
        workers.shutdown(cancel_futures=True)


def _for_the_system(step: CommandRun, root: str) -> CommandRun:
    """Insert the path of the root and the real names of the files into a command."""
    step = at_root(step, root)
    argv = step.argv
    for path in step.files:
        if (name := file_path(path)) != path:
            argv = tuple(word.replace(path, name) for word in argv)
    return structs.replace(step, argv=argv)


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted({path for path, _ in before.items() ^ after.items()}))


def _restless(steps: Sequence[CommandRun], changed_again: Sequence[str]) -> CommandRun:
    """Return the command whose own file changed again, else the first one."""
    changed = frozenset(changed_again)
    return next((step for step in steps if changed.intersection(step.files)), steps[0])


def _kinds(steps: Sequence[CommandRun], root: str) -> dict[str, tuple[int, bytes] | None]:
    """Return the type of each file of the commands, and its real folder. None if missing."""
    paths = {path for step in steps for path in step.files}
    return {path: _kind(as_bytes(f"{root}/{file_path(path)}")) for path in paths}


def _kind(path: bytes) -> tuple[int, bytes] | None:
    try:
        return S_IFMT(os.lstat(path).st_mode), os.path.realpath(path.rpartition(b"/")[0])
    except OSError:
        return None
