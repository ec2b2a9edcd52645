"""What file policies need of any world: their facts found out, their effects carried out.

Every host in which an agent stops can offer this beside its own, see `Loop`. The repository is
looked for when somebody first asks: where no policy is in force, git is not started.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from bylaw.dialects.file_policies.written import CompareTo
from bylaw.engine.outcome import DONE, StepOutcome
from bylaw.hosts.worktree.changes import WorkTree
from bylaw.hosts.worktree.entry_writes import write_entry
from bylaw.hosts.worktree.policy_commands import PolicyCommands
from bylaw.hosts.worktree.policy_state import write_policy_state
from bylaw.hosts.worktree.queue import Queue
from bylaw.model.decision import OPEN_ENTRIES_OF, NeedName
from bylaw.model.effects import OutcomePart, PromptShow
from bylaw.model.errors import BylawError
from bylaw.model.facts import WorkFacts
from bylaw.model.values import as_text
from bylaw.model.vocabulary import EffectStatus, Op
from bylaw.runtime.policy_settings import read_policy_settings
from bylaw.runtime.run_command import CommandRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.engine.index import RuleSet
    from bylaw.engine.plan import Due
    from bylaw.model.decision import Need
    from bylaw.model.event import Event
    from bylaw.model.facts import Changes, Entry, Facts
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.performing import Performer, Performers
    from bylaw.runtime.policy_settings import OutputMode
    from bylaw.runtime.settings.tables import CommandSettings
    from bylaw.runtime.trust import Trust


class FilePolicies:
    """Policies at work in the repository of a folder.

    `note` is told what a person should know. `shown` is what was to be shown since somebody last
    took it away.
    """

    def __init__(self, start: str, note: Callable[[str], None]) -> None:
        self.tree = WorkTree(start)
        self.shown: list[PromptShow] = []
        self._note = note
        self._told: set[str] = set()
        self._wanted: frozenset[CompareTo] = frozenset()

    def under(
        self,
        rules: RuleSet,
        settings: CommandSettings,
        trust: Callable[[], Trust],
        redacted: Callable[[str], str] = str,
    ) -> None:
        """The rules and settings under which policies work from now on.

        `redacted` takes secrets out of what is kept of the output of commands (DW-135).
        """
        needs = (need for rule in rules.rules() for need in rule.needs)
        keys = {need.key for need in needs if need.name is NeedName.CHANGES}
        self._wanted = frozenset(one for one in CompareTo if one in keys)
        self._settings = settings
        self._trust = trust
        self._redacted = redacted
        self.__dict__.pop("_commands", None)

    @property
    def gatherers(self) -> Gatherers:
        """Who finds out changes and entries."""
        return {NeedName.CHANGES: self._gather_changes, NeedName.ENTRIES: self._gather_entries}

    @property
    def performers(self) -> Performers:
        """One method an effect."""
        methods: Performers = {
            Op.ENTRY_WRITE: self._write,
            Op.COMMAND_RUN: self._run,
            Op.PROMPT_SHOW: self._show,
            Op.BASELINE_CAPTURE: self._capture,
        }
        return {op: _told_plainly(method) for op, method in methods.items()}

    def summarise(self, policies: Iterable[str], now: int) -> None:
        """Write the summary after a run; `now` is in milliseconds."""
        try:
            write_policy_state(self.tree.root, self.queue, policies, now)
        except (BylawError, OSError, ValueError) as problem:
            self._tell(f"cannot write the summary: {problem}")

    @property
    def output_mode(self) -> OutputMode:
        """How an agent is told of policies here."""
        return read_policy_settings(self.tree.root).output_mode

    def take_shown(self) -> list[PromptShow]:
        """What was to be shown since this was last asked."""
        taken, self.shown = self.shown, []
        return taken

    @cached_property
    def queue(self) -> Queue:
        """The queue of the repository."""
        return Queue(self.tree.root, self._note)

    @cached_property
    def _commands(self) -> PolicyCommands:
        runner = CommandRunner(self.tree.root, self._settings, self._trust)
        return PolicyCommands(self.tree, self.queue, runner, self._redacted)

    def _gather_changes(self, event: Event, need: Need) -> Facts | None:
        facts = event.facts
        if not isinstance(facts, WorkFacts):
            return None
        known = facts.changes
        if known is not UNSET and getattr(known, need.key) is not UNSET:
            return facts
        try:
            return replace(facts, changes=self._changes(need, is_first=known is UNSET))
        except BylawError as problem:
            self._tell(str(problem))
            return None

    def _changes(self, need: Need, *, is_first: bool) -> Changes:
        """Against all baselines that any policy has: git is asked once for them together."""
        if is_first:
            self.tree.forget()
        found = self.tree.changes(self._wanted | {CompareTo(need.key)})
        for note in self.tree.notes:
            self._tell(note)
        return found

    def _gather_entries(self, event: Event, need: Need) -> Facts | None:
        facts = event.facts
        if not isinstance(facts, WorkFacts):
            return None
        known = {} if facts.entries is UNSET else facts.entries
        try:
            return replace(facts, entries={**known, **dict(self._entries(need.key))})
        except BylawError as problem:
            self._tell(str(problem))
            return None

    def _entries(self, key: str) -> Iterator[tuple[str, Entry | None]]:
        if not key.startswith(OPEN_ENTRIES_OF):
            found = self.queue.find(key)
            yield key, None if found is None else found.fact
            return
        for hash_, entry in self.queue.open_entries(key.removeprefix(OPEN_ENTRIES_OF)).items():
            yield hash_, entry.fact

    def _write(self, due: Due, event: Event) -> StepOutcome:
        return write_entry(self._commands, due, event)

    def _run(self, due: Due, event: Event) -> StepOutcome:
        outcome = self._commands.perform(due, event)
        if outcome.status is EffectStatus.REFUSED:
            why = as_text(outcome.says(OutcomePart.ERROR))
            self._tell(f"the command of `{due.plan.rule}` was not run: {why}")
        return outcome

    def _show(self, due: Due, _event: Event) -> StepOutcome:
        assert isinstance(due.step, PromptShow)
        self.shown.append(due.step)
        return DONE

    def _capture(self, _due: Due, event: Event) -> StepOutcome:
        self.tree.forget()
        return StepOutcome(EffectStatus.OK, {"result": self.tree.capture(event.at / 1000)})

    def _tell(self, what: str) -> None:
        """What is so at every event is told once."""
        if what not in self._told:
            self._told.add(what)
            self._note(what)


def _told_plainly(perform: Performer) -> Performer:
    def performed(due: Due, event: Event) -> StepOutcome:
        try:
            return perform(due, event)
        except (BylawError, ValueError) as problem:
            return StepOutcome(EffectStatus.FAILED, {"error": str(problem)})

    return performed
