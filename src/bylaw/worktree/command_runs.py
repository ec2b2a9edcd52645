"""Run the commands of one policy in parallel, and a second time if they changed files.

Changes are found by comparing the complete work tree before and after. The second run must not
change any file again (DW-A22, DW-A24). There is no second run if a command of the first failed, and
never a third. The runs become the result in the entry and the outcome of each step.
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

from bylaw.engine.plan import StepOutcome
from bylaw.languages.file_policies.evaluation import RESULT_INTERRUPTED
from bylaw.model.display import clip_text, file_path, visible
from bylaw.model.rule import id_of
from bylaw.model.vocabulary import EffectStatus, EntryStatus
from bylaw.runtime.sandbox.client import Cancellation
from bylaw.runtime.sandbox.request import Refusal
from bylaw.runtime.sandbox.result import EXIT_CODE
from bylaw.runtime.sandbox.step import effect_status, with_root_path
from bylaw.store.paths import as_bytes
from bylaw.worktree.entry import ActionResult, last_lines
from bylaw.worktree.policies import ignore_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bylaw.model.effects import CommandRun
    from bylaw.model.values import JSON
    from bylaw.runtime.sandbox.result import CommandResult
    from bylaw.runtime.sandbox.step import CommandRunner
    from bylaw.worktree.entry import QueueEntry

MAX_NAMED = 100  # files, and runs, in a result; all failed runs are included
MAX_STREAM = 64 << 10  # characters of all runs together in one stream
LEAST_STREAM = 512  # characters of each run at least
STREAMS = ("result", "stderr")
BY_ANOTHER = "another process has just run it"


def action_result(command: str, ran: CommandRuns, redacted: Callable[[str], str]) -> ActionResult:
    """Return the result of the first failed command, else the first, with the runs of all."""
    failed = ran.failed
    step = failed[0] if failed else next(iter(ran.runs))
    results = ran.runs[step]
    stdout, stderr = (redacted(_join_streams(ran, failed or [step], key)) for key in STREAMS)
    return ActionResult(
        type="command",
        output=stdout,
        exit_code=results[-1].exit_code if results else None,
        command=command,
        argv=ran.argv(step),
        stdout=stdout,
        stderr=stderr,
        reason=redacted(ran.summary),
        runs=tuple(_run_summary(ran, one, redacted) for one in _listed_runs(ran, failed)),
        touched=ran.touched[:MAX_NAMED],
        limits=_limits(results[-1].as_json() if results else {}),
    )


def interrupted_result(command: str) -> ActionResult:
    """Return the result of commands whose process died."""
    return ActionResult(
        type="command",
        output=RESULT_INTERRUPTED,
        exit_code=None,
        command=command,
        reason=RESULT_INTERRUPTED,
    )


def _listed_runs(ran: CommandRuns, failed: list[CommandRun]) -> Iterable[CommandRun]:
    """Return all runs in order; if there are too many, failed runs first, then some others."""
    if len(ran.runs) <= MAX_NAMED:
        return ran.runs
    named = {*failed}
    others = [step for step in ran.runs if step not in named]
    return [*failed, *others[: max(MAX_NAMED - len(failed), 0)]]


def _join_streams(ran: CommandRuns, steps: list[CommandRun], key: str) -> str:
    """Return the output: all of a single run, or the end of each of several after its command."""
    said = {step: ran.runs[step][-1].as_json() for step in steps if ran.runs[step]}
    if len(steps) == 1:
        return "".join(str(one[key]) for one in said.values())
    each = _stream_limit(len(steps))
    written = {step: str(one[key]).removesuffix("\n") for step, one in said.items()}
    return "".join(
        f"$ {join(ran.argv(step))}\n{_tail(text, each)}\n" for step, text in written.items() if text
    )


def _stream_limit(runs: int) -> int:
    """Return the number of characters for each of several runs."""
    return max(MAX_STREAM // runs, LEAST_STREAM)


def _tail(text: str, most: int) -> str:
    cut = len(text) - most
    return f"… {cut:,} characters left out …{text[cut:]}" if cut > 0 else text


def _limits(said: dict[str, JSON]) -> dict[str, JSON]:
    limits = said.get("limits", {})
    assert isinstance(limits, dict)
    return limits | {"isolation": said["isolation"]} if limits else {}


def step_outcome(ran: CommandRuns, step: CommandRun) -> StepOutcome:
    """Return the outcome of one step."""
    results, failure = ran.runs.get(step, ()), ran.failure(step)
    result: dict[str, JSON] = {
        **(results[-1].as_json() if results else {}),
        "runs": len(results),
        "changed": [*ran.changed_by(step, ran.changed)[:MAX_NAMED]],
        "changed_again": [*ran.changed_by(step, ran.changed_again)[:MAX_NAMED]],
        "touched": [*ran.touched[:MAX_NAMED]],
    }
    if not failure:
        return StepOutcome(EffectStatus.OK, result)
    status = effect_status(results[-1]) if results else EffectStatus.REFUSED
    failed = EffectStatus.FAILED if status is EffectStatus.OK else status
    return StepOutcome(failed, result | {"error": failure})


def outcome_of_other_process(entry: QueueEntry) -> StepOutcome:
    """Return the outcome of a step whose command another process has run."""
    said = entry.action_result
    result: dict[str, JSON] = {"note": BY_ANOTHER, "exit_code": said.exit_code}
    if entry.status is not EntryStatus.FAILED:
        return StepOutcome(EffectStatus.OK, result)
    return StepOutcome(EffectStatus.FAILED, result | {"error": said.failure})


def _run_summary(
    ran: CommandRuns, step: CommandRun, redacted: Callable[[str], str]
) -> dict[str, JSON]:
    results, failure = ran.runs[step], ran.failure(step)
    short: dict[str, JSON] = {"argv": [*ran.argv(step)], "times": len(results)}
    if results:
        short["exit_code"] = results[-1].exit_code
        short |= _run_streams(ran, results[-1], redacted)
    if changed := ran.changed_by(step, ran.changed):
        short["changed"] = [*changed[:MAX_NAMED]]
    if not failure:
        return short
    said = last_lines(results[-1].stderr.text or results[-1].stdout.text) if results else []
    return short | {"error": redacted(failure), "said": [redacted(line) for line in said]}


def _run_streams(
    ran: CommandRuns, result: CommandResult, redacted: Callable[[str], str]
) -> dict[str, JSON]:
    """Return the output of one of several runs. That of a single run is in the result itself."""
    if len(ran.runs) == 1:
        return {}
    written = {"stdout": result.stdout.text, "stderr": result.stderr.text}
    room = _stream_limit(len(ran.runs))
    return {name: redacted(_tail(text, room)) for name, text in written.items() if text}


MAX_RUNS = 1_000
MAX_PARALLEL = 8
MAX_ARGV = 200  # characters of a command in a text about a failure
MAX_NAME = 40  # characters of the name of a policy in a progress text, which is one line

NOT_STARTED = "not started: another run took too long"
NOT_THERE = "`{}` is not in the work tree; if it is staged, restore it or remove it from the index"
TOO_MANY = f"more than {MAX_RUNS:,} files; use `run_for: all_matches`"


class CommandRuns(Struct, frozen=True):
    """The result of the commands of a policy: for each its runs, none if it was not started.

    `changed` are the files that the first run changed, `changed_again` those that the second run
    changed, and `restless` is the command held responsible for it. `gone` are files of the commands
    that were removed, or replaced by something else. `refused` says why no command was run.
    """

    runs: Mapping[CommandRun, tuple[CommandResult, ...]]
    changed: tuple[str, ...] = ()
    changed_again: tuple[str, ...] = ()
    responsible: CommandRun | None = None
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
        if self.changed_again and step == self.responsible:
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
        return f"`{clip_text(visible(join(self.argv(first))), MAX_ARGV)}`{how}{more}"

    def argv(self, step: CommandRun) -> tuple[str, ...]:
        """Return the arguments that were run, or would have been."""
        results = self.runs.get(step)
        return results[-1].argv if results else step.argv

    def changed_by(self, step: CommandRun, changed: Sequence[str]) -> tuple[str, ...]:
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


def policy_label(uid: str) -> str:
    """Return the name of a policy for a progress text."""
    return f"policy {clip_text(visible(id_of(uid)), MAX_NAME)}"


class _StartCounter:
    """Counts and shows the runs that start. Safe for threads."""

    def __init__(self, words: str, total: int, show: Callable[[str], None]) -> None:
        self._words, self._total, self._show = words, total, show
        self._begun = 0
        self._lock = Lock()

    def on_start(self) -> None:
        with self._lock:
            self._begun += 1
            self._show(f"{self._words}: {self._begun:,} of {self._total:,}")


def find_refusal(
    steps: Sequence[CommandRun], uid: str, runner: CommandRunner
) -> CommandRuns | None:
    """Return the result if no command can be run, else None. Then no comparison is needed."""
    steps = tuple(dict.fromkeys(steps))
    # Check trust first: an entry without trust stays open, even if something else is wrong.
    if refused := runner.refusals(steps, uid):
        return CommandRuns({step: (result,) for step, result in zip(steps, refused, strict=True)})
    if len(steps) > MAX_RUNS:
        return CommandRuns(dict.fromkeys(steps, ()), refused=TOO_MANY)
    absent = [path for path, kind in _file_types(steps, runner.root).items() if kind is None]
    if absent:
        return CommandRuns(dict.fromkeys(steps, ()), refused=NOT_THERE.format(min(absent)))
    return None


def run_and_check_stable(
    steps: Sequence[CommandRun],
    uid: str,
    runner: CommandRunner,
    drift: Callable[[], Mapping[str, str]],
    show: Callable[[str], None] = ignore_progress,
    before: Mapping[str, str] | None = None,
) -> CommandRuns:
    """Run the commands of the rule with that uid; if they changed files, run them a second time.

    `drift` returns digests of files of the work tree by path. `before` is its last result, if
    nothing can have changed since.
    """
    steps, words = tuple(dict.fromkeys(steps)), policy_label(uid)
    kinds = _file_types(steps, runner.root)
    before = drift() if before is None else before
    first = _run_parallel(steps, uid, runner, _StartCounter(words, len(steps), show))
    show(f"{words}: checking what it changed")
    between = drift()
    ran = CommandRuns(
        {step: (result,) if result else () for step, result in zip(steps, first, strict=True)},
        changed=_changed_paths(before, between),
        gone=frozenset(path for path, _ in kinds.items() - _file_types(steps, runner.root).items()),
    )
    must_show_it = any(step.check_idempotent for step in steps)
    if ran.failed or not ran.changed or not must_show_it:
        return ran
    count = _StartCounter(f"{words}, second run", len(steps), show)
    second = _run_parallel(steps, uid, runner, count)
    runs = {
        step: tuple(result for result in results if result)
        for step, *results in zip(steps, first, second, strict=True)
    }
    changed_again = _changed_paths(between, drift())
    return replace(
        ran,
        runs=runs,
        changed_again=changed_again,
        responsible=_responsible_command(steps, changed_again),
    )


def _run_parallel(
    steps: Sequence[CommandRun], uid: str, runner: CommandRunner, count: _StartCounter
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
            count.on_start()
            result = ours.run(_with_real_paths(step, runner.root), uid, has_begun[number].set)
            if result.timed_out:
                too_long.set()
            return result

    workers = ThreadPoolExecutor(min(len(steps), MAX_PARALLEL, os.cpu_count() or 1))
    try:
        return list(workers.map(run, range(len(steps)), steps))
    except BaseException:
        cancellation.cancel()
        raise
    finally:
        workers.shutdown(cancel_futures=True)


def _with_real_paths(step: CommandRun, root: str) -> CommandRun:
    """Insert the path of the root and the real names of the files into a command."""
    step = with_root_path(step, root)
    argv = step.argv
    for path in step.files:
        if (name := file_path(path)) != path:
            argv = tuple(word.replace(path, name) for word in argv)
    return structs.replace(step, argv=argv)


def _changed_paths(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted({path for path, _ in before.items() ^ after.items()}))


def _responsible_command(steps: Sequence[CommandRun], changed_again: Sequence[str]) -> CommandRun:
    """Return the command whose own file changed again, else the first one."""
    changed = frozenset(changed_again)
    return next((step for step in steps if changed.intersection(step.files)), steps[0])


def _file_types(steps: Sequence[CommandRun], root: str) -> dict[str, tuple[int, bytes] | None]:
    """Return the type of each file of the commands, and its real folder. None if missing."""
    paths = {path for step in steps for path in step.files}
    return {path: _file_type(as_bytes(f"{root}/{file_path(path)}")) for path in paths}


def _file_type(path: bytes) -> tuple[int, bytes] | None:
    try:
        return S_IFMT(os.lstat(path).st_mode), os.path.realpath(path.rpartition(b"/")[0])
    except OSError:
        return None
