"""Perform `command.run` for file policies: run all commands of a plan, in one process only.

The first step of a plan runs all its commands. The other steps return their part of the result.
Only one process at a time runs commands in a work tree, because two could not tell their changes
apart. A process that had to wait finds the entry closed and runs nothing. So the entry is closed
while the lock is held, before the step that closes it. Until then the entry names the process that
runs its commands. If it still does so when another process gets the lock, that process died.
"""

from __future__ import annotations

import secrets
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from bylaw.dialects.file_policies.judging import INTERRUPTED
from bylaw.dialects.file_policies.names import NAME
from bylaw.engine.outcome import StepOutcome
from bylaw.hosts.worktree.action_results import (
    action_result,
    interrupted_result,
    outcome_by_another,
    outcome_of,
)
from bylaw.hosts.worktree.present_digest import present_digest
from bylaw.hosts.worktree.progress import no_words
from bylaw.hosts.worktree.queue.entry_file import QueueEntry
from bylaw.hosts.worktree.stable_runs import (
    Ran,
    nothing_run,
    policy_words,
    run_and_check_stable,
)
from bylaw.model.effects import CommandRun, EntryWrite
from bylaw.model.errors import BylawError
from bylaw.model.vocabulary import EffectStatus, EntryStatus
from bylaw.runtime.owner import this_process
from bylaw.runtime.reading import in_plain_words
from bylaw.runtime.run_command import Bounds
from bylaw.runtime.state_folder import STATE, state_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from bylaw.engine.plan import Due
    from bylaw.hosts.worktree.queue.queue import Queue
    from bylaw.hosts.worktree.work_tree import WorkTree
    from bylaw.model.decision import Plan
    from bylaw.model.event import Event
    from bylaw.runtime.run_command import CommandRunner
    from bylaw.runtime.state_folder import StateFolder

PATIENCE_S = 600.0  # for commands of another process
_LOCK = "policy-commands"
_TURN = f"{_LOCK}.turn"
# Trust in a policy includes the script that it names, with its content at that time.
BOUNDS = {NAME: Bounds(scripts=True, tidy=True)}

PlanKey: TypeAlias = tuple[str, int, int, str]
# The result of a plan: the runs, the entry that another process closed, or why there is neither.
Found: TypeAlias = Ran | QueueEntry | str


@contextmanager
def alone(root: str) -> Iterator[StateFolder]:
    """Hold the lock for commands in the work tree. Raise BylawError if it is not available."""
    with ExitStack() as held:
        try:
            state = held.enter_context(state_folder(root))
            held.enter_context(state.locked(_LOCK, PATIENCE_S))
        except OSError as wrong:
            raise _unusable(wrong) from None
        yield state


def _unusable(wrong: OSError) -> BylawError:
    place = f"{STATE}/{_LOCK}.lock" if isinstance(wrong, IsADirectoryError) else STATE
    return BylawError(f"cannot use `{place}`: {in_plain_words(wrong)}")


def plan_key(due: Due, event: Event) -> PlanKey:
    """Return a key that identifies the plan."""
    return event.session, event.seq, event.round, due.plan.uid


def own_entry(plan: Plan) -> EntryWrite | None:
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
    show: Callable[[str], None] = no_words
    _key: PlanKey | None = None
    _found: Found = ""
    _turn: bytes = field(default_factory=lambda: secrets.token_hex(16).encode())

    def perform(self, due: Due, event: Event) -> StepOutcome:
        """Perform one step of a plan. The first one runs all commands."""
        step = due.step
        assert isinstance(step, CommandRun)
        if not self.knows(due, event):
            self._found = self._run_all(due.plan, event)
            self._key = plan_key(due, event)
        if isinstance(self._found, Ran):
            return outcome_of(self._found, step)
        if isinstance(self._found, QueueEntry):
            return outcome_by_another(self._found)
        return StepOutcome(EffectStatus.FAILED, {"error": self._found})

    @property
    def unable(self) -> str:
        """Why the result of the last commands is missing; empty if it is known."""
        return self._found if isinstance(self._found, str) and self._found != INTERRUPTED else ""

    @property
    def may_have_run(self) -> bool:
        """Whether the last commands, here or in another process, may have changed files."""
        return not isinstance(self._found, Ran) or self._found.started

    def knows(self, due: Due, event: Event) -> bool:
        """Whether this process has handled the commands of this plan and its entry."""
        return self._key == plan_key(due, event)

    def _run_all(self, plan: Plan, event: Event) -> Found:
        wanted = own_entry(plan)
        steps = [step for step in plan.steps if isinstance(step, CommandRun)]
        refused = nothing_run(steps, plan.uid, self.runner)
        if refused is not None and refused.untrusted:
            return refused  # nothing runs, so the lock is not needed
        self.show(f"{policy_words(plan.uid)}: waiting for other processes")
        try:
            with alone(self.tree.root) as state:
                entry = None if wanted is None else self.queue.find(wanted.hash)
                if entry is not None and entry.status is not EntryStatus.QUEUED:
                    self.tree.forget()  # the changes by the other process are not known here
                    return entry
                if wanted is not None and entry is not None and entry.begun_by:
                    self.tree.forget()
                    return self._interrupted(wanted, event)
                ran = refused or self._begin(steps, plan, state, event)
                # An entry without trust was not evaluated, so it stays open.
                if wanted is not None and not ran.untrusted:
                    self._close(wanted, ran, event)
                return ran
        except BylawError as problem:
            self.tree.forget()  # commands may have run, and their changes are not known
            return str(problem)

    def _begin(
        self, steps: Sequence[CommandRun], plan: Plan, state: StateFolder, event: Event
    ) -> Ran:
        before = self._drift_still_true(state, event)
        if wanted := own_entry(plan):
            self.queue.begin(wanted.hash, this_process())
        return run_and_check_stable(
            steps, plan.uid, self.runner, self.tree.drift, self.show, before
        )

    def _interrupted(self, wanted: EntryWrite, event: Event) -> str:
        """Mark the entry as failed because its command was interrupted. Return the reason."""
        digest = present_digest(self.tree.root, event, wanted)
        step = replace(wanted, status=EntryStatus.FAILED, digest=digest)
        self.queue.write(step, interrupted_result(wanted.command), event.at)
        return INTERRUPTED

    def _drift_still_true(self, state: StateFolder, event: Event) -> Mapping[str, str] | None:
        """Return the last drift if it is still valid, else None.

        It is valid if it is from this stop, and the last commands in the work tree were ours.
        """
        was_other_stop = self._key is not None and self._key[:2] != (event.session, event.seq)
        if was_other_stop and self.tree.last_drift is not None:
            self.tree.forget()
        return self.tree.last_drift if self._take_turn(state) else None

    def _take_turn(self, state: StateFolder) -> bool:
        """Record that this process runs the latest commands. Return True if it already did."""
        try:
            if state.read(_TURN, len(self._turn)) == self._turn:
                return True
            state.write(_TURN, self._turn, lasting=False)
        except OSError as wrong:
            raise _unusable(wrong) from None
        return False

    def _close(self, wanted: EntryWrite, ran: Ran, event: Event) -> None:
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
