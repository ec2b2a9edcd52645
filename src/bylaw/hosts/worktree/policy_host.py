"""The part of a host that serves file policies: it gathers their facts and performs their effects.

Any host in which an agent stops can add this, see `Loop`. The repository is found when it is first
needed. Without an active policy, git is not started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bylaw.engine.outcome import DONE, StepOutcome
from bylaw.hosts.worktree.policy_facts import PolicyFacts
from bylaw.hosts.worktree.progress import no_words
from bylaw.model.effects import EntryWrite, OutcomePart, PromptShow
from bylaw.model.errors import BylawError
from bylaw.model.values import as_text
from bylaw.model.vocabulary import EffectStatus, Op
from bylaw.runtime.policy_settings import read_policy_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from bylaw.engine.index import RuleSet
    from bylaw.engine.plan import Due
    from bylaw.hosts.worktree.policy_commands import PolicyCommands
    from bylaw.hosts.worktree.queue.queue import Queue
    from bylaw.hosts.worktree.work_tree import WorkTree
    from bylaw.model.event import Event
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.performing import Performers
    from bylaw.runtime.policy_settings import OutputMode
    from bylaw.runtime.settings.tables import CommandSettings
    from bylaw.runtime.trust import Trust


class FilePolicies:
    """File policies for the repository of a folder.

    `note` receives texts for a person, `show` the progress of commands. `shown` collects the
    messages to show until `take_shown`. `PolicyFacts` gathers the facts.
    """

    def __init__(
        self, start: str, note: Callable[[str], None], show: Callable[[str], None] = no_words
    ) -> None:
        self.shown: list[PromptShow] = []
        self._facts = PolicyFacts(start, note)
        self._show_progress = show
        self._commands: PolicyCommands | None = None

    def put_in_force(
        self,
        rules: RuleSet,
        settings: CommandSettings,
        trust: Callable[[], Trust],
        redacted: Callable[[str], str] = str,
    ) -> None:
        """Replace the active rules and settings.

        `redacted` removes secrets from the stored output of commands (DW-135).
        """
        self._facts.put_in_force(rules)
        self._settings = settings
        self._trust = trust
        self._redacted = redacted
        self._commands = None

    @property
    def gatherers(self) -> Gatherers:
        """The functions that gather changes and entries."""
        return self._facts.gatherers

    @property
    def performers(self) -> Performers:
        """One method for each effect."""
        return {
            Op.ENTRY_WRITE: self._write,
            Op.COMMAND_RUN: self._run,
            Op.PROMPT_SHOW: self._show,
            Op.BASELINE_CAPTURE: self._capture,
        }

    def output_mode(self) -> OutputMode:
        """Return the form of messages about policies: batched or individual."""
        return read_policy_settings(self.tree.root).output_mode

    def take_shown(self) -> list[PromptShow]:
        """Return and clear the messages to show. Call it at the end of an event."""
        self._facts.hang_up()
        taken, self.shown = self.shown, []
        return taken

    def take_back(self, answer: Answer, rules: Container[str]) -> None:
        """Decrease `shown` of these rules, by uid: the stop was released without their messages.

        The stop is released even if the queue cannot be written.
        """
        from bylaw.hosts.worktree.entry_writes import was_written  # noqa: PLC0415 - see below

        for due, outcome in answer.steps():
            if due.plan.uid in rules and isinstance(due.step, EntryWrite) and was_written(outcome):
                try:
                    self.queue.take_back(due.step)
                except BylawError as problem:
                    self._facts.tell_once(
                        f"`{due.plan.rule}` is recorded as shown, but was not: {problem}"
                    )

    @property
    def tree(self) -> WorkTree:
        """The work tree of the repository."""
        return self._facts.tree

    @property
    def queue(self) -> Queue:
        """The queue of the repository."""
        return self._facts.queue

    @property
    def titles(self) -> dict[str, str]:
        """The titles of all active policies, by identifier."""
        return self._facts.titles

    @property
    def unknown(self) -> str:
        """Why facts are not available, empty if they are."""
        return self._facts.unknown

    # Every hook of a coding agent creates this object, but few use what follows.

    def _ready_commands(self) -> PolicyCommands:
        from bylaw.hosts.worktree.policy_commands import BOUNDS, PolicyCommands  # noqa: PLC0415 - see above
        from bylaw.runtime.run_command import CommandRunner  # noqa: PLC0415 - see above

        if self._commands is None:
            runner = CommandRunner(self.tree.root, self._settings, self._trust, BOUNDS)
            self._commands = PolicyCommands(
                self.tree, self.queue, runner, self._redacted, self._show_progress
            )
        return self._commands

    def _write(self, due: Due, event: Event) -> StepOutcome:
        from bylaw.hosts.worktree.entry_writes import write_entry  # noqa: PLC0415 - see above

        ran = self._ready_commands().knows(due, event)
        return write_entry(self.queue, self.tree.root, due, event, ran=ran)

    def _run(self, due: Due, event: Event) -> StepOutcome:
        from bylaw.hosts.worktree.policy_commands import own_entry  # noqa: PLC0415 - see above

        commands = self._ready_commands()
        outcome = commands.perform(due, event)
        if entry := own_entry(due.plan):
            self._facts.was_tried(entry.hash, commands.unable)
        if commands.may_have_run:
            self._facts.may_have_changed()
        why = as_text(outcome.says(OutcomePart.ERROR))
        if outcome.status is EffectStatus.REFUSED or commands.unable:
            self._facts.tell_once(f"the command of `{due.plan.rule}` was not run: {why}")
        return outcome

    def _show(self, due: Due, _event: Event) -> StepOutcome:
        assert isinstance(due.step, PromptShow)
        self.shown.append(due.step)
        return DONE

    def _capture(self, _due: Due, event: Event) -> StepOutcome:
        self.tree.forget()
        path = self.tree.capture(event.at / 1000, event.session)
        return StepOutcome(EffectStatus.OK, {"result": path})
