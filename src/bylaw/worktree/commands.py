"""Perform `command.run` and `entry.write` for file policies.

The first step of a plan runs all its commands; the other steps return their part of the result.
Only one process at a time runs commands in a work tree, because two could not tell their changes
apart. A process that had to wait finds the entry closed and runs nothing. So the entry is closed
while the lock is held, before the step that closes it. Until then the entry names the process that
runs its commands. If it still does so when another process gets the lock, that process died. An
entry is not written if another process was faster.
"""

from __future__ import annotations

import secrets
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeAlias

from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from bylaw.engine.plan import StepOutcome
from bylaw.languages.file_policies.evaluation import RESULT_ACKNOWLEDGED, RESULT_INTERRUPTED
from bylaw.languages.file_policies.syntax import NAME
from bylaw.model.effects import CommandRun, EntryWrite
from bylaw.model.errors import BylawError
from bylaw.model.facts import WorkFacts
from bylaw.model.vocabulary import EffectStatus, EntryStatus
from bylaw.runtime.sandbox.step import CommandLimits
from bylaw.store.files import os_error_text
from bylaw.store.state_folder import STATE_FOLDER, state_folder
from bylaw.store.system import own_process_name
from bylaw.worktree.changes import present_digest
from bylaw.worktree.command_runs import (
    CommandRuns,
    action_result,
    find_refusal,
    interrupted_result,
    outcome_of_other_process,
    policy_label,
    run_and_check_stable,
    step_outcome,
)
from bylaw.worktree.entry import ActionResult, QueueEntry
from bylaw.worktree.policies import ignore_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bylaw.engine.plan import DueStep
    from bylaw.model.decision import Plan
    from bylaw.model.event import Event
    from bylaw.runtime.sandbox.step import CommandRunner
    from bylaw.store.state_folder import StateFolder
    from bylaw.worktree.changes import WorkTree
    from bylaw.worktree.entry import EntryState
    from bylaw.worktree.queue import Queue

LOCK_TIMEOUT_S = 600.0  # for commands of another process
_LOCK = "policy-commands"
_LAST_RUNNER = f"{_LOCK}.turn"
# Trust in a policy includes the script that it names, with its content at that time.
BOUNDS = {NAME: CommandLimits(scripts=True, tidy=True)}

PlanKey: TypeAlias = tuple[str, int, int, str]
# The result of a plan: the runs, the entry that another process closed, or why there is neither.
PlanResult: TypeAlias = CommandRuns | QueueEntry | str


@contextmanager
def lock_commands(root: str) -> Iterator[StateFolder]:
    """Hold the lock for commands in the work tree. Raise BylawError if it is not available."""
    with ExitStack() as held:
        try:
            state = held.enter_context(state_folder(root))
            held.enter_context(state.lock(_LOCK, LOCK_TIMEOUT_S))
        except OSError as wrong:
            raise _unusable_error(wrong) from None
        yield state


def _unusable_error(wrong: OSError) -> BylawError:
    place = f"{STATE_FOLDER}/{_LOCK}.lock" if isinstance(wrong, IsADirectoryError) else STATE_FOLDER
    return BylawError(f"cannot use `{place}`: {os_error_text(wrong)}")


def plan_key(due: DueStep, event: Event) -> PlanKey:
    """Return a key that identifies the plan."""
    return event.session, event.seq, event.round, due.plan.uid


def closing_step(plan: Plan) -> EntryWrite | None:
    """Return the step that closes the entry of the commands of a plan; None without commands."""
    if not any(isinstance(step, CommandRun) for step in plan.steps):
        return None
    closing = (step for step in plan.steps if isinstance(step, EntryWrite))
    return next((step for step in closing if step.status is EntryStatus.PASSED), None)


class PolicyCommands(Struct):
    """Runs commands in the work tree.

    `redacted` removes secrets from their output. `show` receives their progress.
    """

    tree: WorkTree
    queue: Queue
    runner: CommandRunner
    redacted: Callable[[str], str] = str
    show: Callable[[str], None] = ignore_progress
    _key: PlanKey | None = None
    _result: PlanResult = ""
    _turn: bytes = field(default_factory=lambda: secrets.token_hex(16).encode())

    def perform(self, due: DueStep, event: Event) -> StepOutcome:
        """Perform one step of a plan. The first one runs all commands."""
        step = due.step
        assert isinstance(step, CommandRun)
        if not self.knows(due, event):
            self._result = self._run_all(due.plan, event)
            self._key = plan_key(due, event)
        if isinstance(self._result, CommandRuns):
            return step_outcome(self._result, step)
        if isinstance(self._result, QueueEntry):
            return outcome_of_other_process(self._result)
        return StepOutcome(EffectStatus.FAILED, {"error": self._result})

    @property
    def problem(self) -> str:
        """Why the result of the last commands is missing; empty if it is known."""
        return (
            self._result
            if isinstance(self._result, str) and self._result != RESULT_INTERRUPTED
            else ""
        )

    @property
    def may_have_run(self) -> bool:
        """Whether the last commands, here or in another process, may have changed files."""
        return not isinstance(self._result, CommandRuns) or self._result.started

    def knows(self, due: DueStep, event: Event) -> bool:
        """Whether this process has handled the commands of this plan and its entry."""
        return self._key == plan_key(due, event)

    def _run_all(self, plan: Plan, event: Event) -> PlanResult:
        wanted = closing_step(plan)
        steps = [step for step in plan.steps if isinstance(step, CommandRun)]
        refused = find_refusal(steps, plan.uid, self.runner)
        if refused is not None and refused.untrusted:
            return refused  # nothing runs, so the lock is not needed
        self.show(f"{policy_label(plan.uid)}: waiting for other processes")
        try:
            with lock_commands(self.tree.root) as state:
                entry = None if wanted is None else self.queue.find(wanted.hash)
                if entry is not None and entry.status is not EntryStatus.QUEUED:
                    self.tree.forget()  # the changes by the other process are not known here
                    return entry
                if wanted is not None and entry is not None and entry.begun_by:
                    self.tree.forget()
                    return self._mark_interrupted(wanted, event)
                ran = refused or self._start(steps, plan, state, event)
                # An entry without trust was not evaluated, so it stays open.
                if wanted is not None and not ran.untrusted:
                    self._close_entry(wanted, ran, event)
                return ran
        except BylawError as problem:
            self.tree.forget()  # commands may have run, and their changes are not known
            return str(problem)

    def _start(
        self, steps: Sequence[CommandRun], plan: Plan, state: StateFolder, event: Event
    ) -> CommandRuns:
        before = self._valid_drift(state, event)
        if wanted := closing_step(plan):
            self.queue.begin(wanted.hash, own_process_name())
        return run_and_check_stable(
            steps, plan.uid, self.runner, self.tree.drift, self.show, before
        )

    def _mark_interrupted(self, wanted: EntryWrite, event: Event) -> str:
        """Mark the entry as failed because its command was interrupted. Return the reason."""
        digest = present_digest(self.tree.root, event, wanted)
        step = replace(wanted, status=EntryStatus.FAILED, digest=digest)
        self.queue.write(step, interrupted_result(wanted.command), event.at)
        return RESULT_INTERRUPTED

    def _valid_drift(self, state: StateFolder, event: Event) -> Mapping[str, str] | None:
        """Return the last drift if it is still valid, else None.

        It is valid if it is from this stop, and the last commands in the work tree were ours.
        """
        was_other_stop = self._key is not None and self._key[:2] != (event.session, event.seq)
        if was_other_stop and self.tree.last_drift is not None:
            self.tree.forget()
        return self.tree.last_drift if self._claim_last_run(state) else None

    def _claim_last_run(self, state: StateFolder) -> bool:
        """Record that this process runs the latest commands. Return True if it already did."""
        try:
            if state.read(_LAST_RUNNER, len(self._turn)) == self._turn:
                return True
            state.write(_LAST_RUNNER, self._turn, lasting=False)
        except OSError as wrong:
            raise _unusable_error(wrong) from None
        return False

    def _close_entry(self, wanted: EntryWrite, ran: CommandRuns, event: Event) -> None:
        touched = {*ran.changed, *ran.changed_again}
        step = replace(
            wanted,
            status=EntryStatus.FAILED if ran.failed else EntryStatus.PASSED,
            digest=present_digest(self.tree.root, event, wanted, touched),
        )
        result = action_result(wanted.command, ran, self.redacted)
        if self.queue.find(step.hash) is None:  # a command can remove the queue while it runs
            self.queue.write(replace(step, status=EntryStatus.QUEUED), result, event.at)
        self.queue.write(step, result, event.at)


UNCHANGED = "it stays as it is"


def write_entry(queue: Queue, root: str, due: DueStep, event: Event, *, ran: bool) -> StepOutcome:
    """Write an entry if it still has the state on which the decision is based.

    `ran`: this process has run the commands of the plan.
    """
    step = due.step
    assert isinstance(step, EntryWrite)
    closes = _closes_command(due, step)
    if closes and ran:
        return _unchanged(queue, step)  # the entry was already written after the commands
    # If the commands were interrupted, another process may be running them now.
    with lock_commands(root) if closes else nullcontext():
        current = queue.find(step.hash)
        # Leave an interrupted entry to the next stop, which reads the files again.
        interrupted = closes and current is not None and bool(current.begun_by)
        if interrupted or _is_stale(root, event, step, current):
            return _unchanged(queue, step)
        result = _entry_result(step, current)
        written = queue.write(step, result, event.at, _known_states(due, event, step))
    if written is None:
        return _unchanged(queue, step)
    return StepOutcome(EffectStatus.OK, {"result": written.file_name})


def was_written(outcome: StepOutcome) -> bool:
    """Whether the step with this outcome changed its entry."""
    said = outcome.result if isinstance(outcome.result, dict) else {}
    return outcome.status is EffectStatus.OK and said.get("note") != UNCHANGED


def _unchanged(queue: Queue, step: EntryWrite) -> StepOutcome:
    """Write nothing, and return the present file name."""
    current = queue.find(step.hash)
    there = current.file_name if current else ""
    return StepOutcome(EffectStatus.OK, {"result": there, "note": UNCHANGED})


def _closes_command(due: DueStep, step: EntryWrite) -> bool:
    own = closing_step(due.plan)
    closed = step.status in (EntryStatus.PASSED, EntryStatus.FAILED)
    return own is not None and own.hash == step.hash and closed


def _is_stale(root: str, event: Event, step: EntryWrite, current: QueueEntry | None) -> bool:
    """Whether the step would reopen an entry whose files are again as when it was closed."""
    if current is None or current.status is EntryStatus.QUEUED:
        return False
    is_new_life = bool(step.digest) and step.digest != current.content_digest
    return is_new_life and present_digest(root, event, step) == current.content_digest


def _entry_result(step: EntryWrite, current: QueueEntry | None) -> ActionResult:
    said = None if step.result is None else str(step.result)
    if current is not None and said == RESULT_ACKNOWLEDGED:
        # Keep the result of the command, and add the reason why the entry is skipped.
        return replace(current.action_result, output=said)
    former = current.action_result.command if current else UNSET
    command = step.command or former or UNSET
    failed = step.status is EntryStatus.FAILED
    return ActionResult(
        type="command" if command or failed else "prompt",
        output=said or None,
        exit_code=None,
        command=command,
        reason=said or "" if failed else "",
    )


def _known_states(due: DueStep, event: Event, step: EntryWrite) -> set[EntryState | None] | None:
    """Return the states that the step may find: the one decided on, and those its plan writes."""
    facts = event.facts
    if not isinstance(facts, WorkFacts) or facts.entries is UNSET or step.hash not in facts.entries:
        return None
    seen = facts.entries[step.hash]
    known: set[EntryState | None] = {
        (one.status, one.digest, one.shown)
        for one in due.plan.steps
        if isinstance(one, EntryWrite) and one.hash == step.hash
    }
    return known | {(seen.status, seen.digest, seen.shown) if seen else None}
