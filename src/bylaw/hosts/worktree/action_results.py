"""Convert runs of commands to the result in the entry and to the outcome of each step."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING

from bylaw.dialects.file_policies.judging import INTERRUPTED
from bylaw.engine.outcome import StepOutcome
from bylaw.hosts.worktree.queue.entry_file import ActionResult, last_lines
from bylaw.model.vocabulary import EffectStatus, EntryStatus
from bylaw.runtime.run_command import effect_status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.hosts.worktree.queue.entry_file import QueueEntry
    from bylaw.hosts.worktree.stable_runs import Ran
    from bylaw.model.effects import CommandRun
    from bylaw.model.values import JSON
    from bylaw.runtime.watched.result import CommandResult

MAX_NAMED = 100  # files, and runs, in a result; all failed runs are included
MAX_STREAM = 64 << 10  # characters of all runs together in one stream
LEAST_STREAM = 512  # characters of each run at least
STREAMS = ("result", "stderr")
BY_ANOTHER = "another process has just run it"


def action_result(command: str, ran: Ran, redacted: Callable[[str], str]) -> ActionResult:
    """Return the result of the first failed command, else the first, with the runs of all."""
    failed = ran.failed
    step = failed[0] if failed else next(iter(ran.runs))
    results = ran.runs[step]
    stdout, stderr = (redacted(_streams(ran, failed or [step], key)) for key in STREAMS)
    return ActionResult(
        type="command",
        output=stdout,
        exit_code=results[-1].exit_code if results else None,
        command=command,
        argv=ran.argv(step),
        stdout=stdout,
        stderr=stderr,
        reason=redacted(ran.summary),
        runs=tuple(_in_short(ran, one, redacted) for one in _listed_runs(ran, failed)),
        touched=ran.touched[:MAX_NAMED],
        limits=_limits(results[-1].as_json() if results else {}),
    )


def interrupted_result(command: str) -> ActionResult:
    """Return the result of commands whose process died."""
    return ActionResult(
        type="command", output=INTERRUPTED, exit_code=None, command=command, reason=INTERRUPTED
    )


def _listed_runs(ran: Ran, failed: list[CommandRun]) -> Iterable[CommandRun]:
    """Return all runs in order; if there are too many, failed runs first, then some others."""
    if len(ran.runs) <= MAX_NAMED:
        return ran.runs
    named = {*failed}
    others = [step for step in ran.runs if step not in named]
    return [*failed, *others[: max(MAX_NAMED - len(failed), 0)]]


def _streams(ran: Ran, steps: list[CommandRun], key: str) -> str:
    """Return the output: all of a single run, or the end of each of several after its command."""
    said = {step: ran.runs[step][-1].as_json() for step in steps if ran.runs[step]}
    if len(steps) == 1:
        return "".join(str(one[key]) for one in said.values())
    each = _room(len(steps))
    written = {step: str(one[key]).removesuffix("\n") for step, one in said.items()}
    return "".join(
        f"$ {join(ran.argv(step))}\n{_end(text, each)}\n" for step, text in written.items() if text
    )


def _room(runs: int) -> int:
    """Return the number of characters for each of several runs."""
    return max(MAX_STREAM // runs, LEAST_STREAM)


def _end(text: str, most: int) -> str:
    cut = len(text) - most
    return f"… {cut:,} characters left out …{text[cut:]}" if cut > 0 else text


def _limits(said: dict[str, JSON]) -> dict[str, JSON]:
    limits = said.get("limits", {})
    assert isinstance(limits, dict)
    return limits | {"isolation": said["isolation"]} if limits else {}


def outcome_of(ran: Ran, step: CommandRun) -> StepOutcome:
    """Return the outcome of one step."""
    results, failure = ran.runs.get(step, ()), ran.failure(step)
    result: dict[str, JSON] = {
        **(results[-1].as_json() if results else {}),
        "runs": len(results),
        "changed": [*ran.of_one(step, ran.changed)[:MAX_NAMED]],
        "changed_again": [*ran.of_one(step, ran.changed_again)[:MAX_NAMED]],
        "touched": [*ran.touched[:MAX_NAMED]],
    }
    if not failure:
        return StepOutcome(EffectStatus.OK, result)
    status = effect_status(results[-1]) if results else EffectStatus.REFUSED
    failed = EffectStatus.FAILED if status is EffectStatus.OK else status
    return StepOutcome(failed, result | {"error": failure})


def outcome_by_another(entry: QueueEntry) -> StepOutcome:
    """Return the outcome of a step whose command another process has run."""
    said = entry.action_result
    result: dict[str, JSON] = {"note": BY_ANOTHER, "exit_code": said.exit_code}
    if entry.status is not EntryStatus.FAILED:
        return StepOutcome(EffectStatus.OK, result)
    return StepOutcome(EffectStatus.FAILED, result | {"error": said.failure})


def _in_short(ran: Ran, step: CommandRun, redacted: Callable[[str], str]) -> dict[str, JSON]:
    results, failure = ran.runs[step], ran.failure(step)
    short: dict[str, JSON] = {"argv": [*ran.argv(step)], "times": len(results)}
    if results:
        short["exit_code"] = results[-1].exit_code
        short |= _own_streams(ran, results[-1], redacted)
    if changed := ran.of_one(step, ran.changed):
        short["changed"] = [*changed[:MAX_NAMED]]
    if not failure:
        return short
    said = last_lines(results[-1].stderr.text or results[-1].stdout.text) if results else []
    return short | {"error": redacted(failure), "said": [redacted(line) for line in said]}


def _own_streams(
    ran: Ran, result: CommandResult, redacted: Callable[[str], str]
) -> dict[str, JSON]:
    """Return the output of one of several runs. That of a single run is in the result itself."""
    if len(ran.runs) == 1:
        return {}
    written = {"stdout": result.stdout.text, "stderr": result.stderr.text}
    room = _room(len(ran.runs))
    return {name: redacted(_end(text, room)) for name, text in written.items() if text}
