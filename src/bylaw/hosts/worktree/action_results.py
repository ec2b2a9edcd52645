"""What became of the commands of a policy → the result in its entry, the outcome of each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.engine.outcome import StepOutcome
from bylaw.hosts.worktree.queue.entry_file import ActionResult
from bylaw.model.vocabulary import EffectStatus, EntryStatus
from bylaw.runtime.run_command import effect_status

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.hosts.worktree.queue.entry_file import QueueEntry
    from bylaw.hosts.worktree.stable_runs import Ran
    from bylaw.model.effects import CommandRun
    from bylaw.model.values import JSON

MAX_NAMED = 100  # files, and runs, in a result
BY_ANOTHER = "another process has just run it"


def action_result(command: str, ran: Ran, redacted: Callable[[str], str]) -> ActionResult:
    """The first run that failed, else the first; and all of them in short."""
    step = ran.failed or next(iter(ran.runs))
    results = ran.runs[step]
    said = results[-1].as_json() if results else {}
    stdout, stderr = (redacted(str(said.get(key, ""))) for key in ("result", "stderr"))
    return ActionResult(
        type="command",
        output=stdout,
        exit_code=results[-1].exit_code if results else None,
        command=command,
        argv=step.argv,
        stdout=stdout,
        stderr=stderr,
        reason=redacted(ran.failure(step)),
        runs=tuple(_in_short(ran, one) for one in [*ran.runs][:MAX_NAMED]),
        touched=ran.touched[:MAX_NAMED],
        limits=_limits(said),
    )


def _limits(said: dict[str, JSON]) -> dict[str, JSON]:
    limits = said.get("limits", {})
    assert isinstance(limits, dict)
    return limits | {"isolation": said["isolation"]} if limits else {}


def outcome_of(ran: Ran, step: CommandRun) -> StepOutcome:
    """How one of the steps ended."""
    results, failure = ran.runs.get(step, ()), ran.failure(step)
    result: dict[str, JSON] = {
        **(results[-1].as_json() if results else {}),
        "runs": len(results),
        "changed": [*ran.changed[:MAX_NAMED]],
        "changed_again": [*ran.changed_again[:MAX_NAMED]],
        "touched": [*ran.touched[:MAX_NAMED]],
    }
    if not failure:
        return StepOutcome(EffectStatus.OK, result)
    status = effect_status(results[-1]) if results else EffectStatus.REFUSED
    failed = EffectStatus.FAILED if status is EffectStatus.OK else status
    return StepOutcome(failed, result | {"error": failure})


def outcome_by_another(entry: QueueEntry) -> StepOutcome:
    """How a step ended that was not carried out, since another process had done so."""
    said = entry.action_result
    result: dict[str, JSON] = {"note": BY_ANOTHER, "exit_code": said.exit_code}
    if entry.status is not EntryStatus.FAILED:
        return StepOutcome(EffectStatus.OK, result)
    return StepOutcome(EffectStatus.FAILED, result | {"error": said.failure})


def _in_short(ran: Ran, step: CommandRun) -> dict[str, JSON]:
    results, failure = ran.runs[step], ran.failure(step)
    short: dict[str, JSON] = {"argv": [*step.argv], "times": len(results)}
    if results:
        short["exit_code"] = results[-1].exit_code
    return short | {"error": failure} if failure else short
