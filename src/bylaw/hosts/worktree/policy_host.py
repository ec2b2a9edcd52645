"""What file policies need of any world: their facts found out, their effects carried out.

Every host in which an agent stops can offer this beside its own, see `Loop`. The repository is
looked for when somebody first asks: where no policy is in force, git is not started.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from bylaw.dialects.file_policies.names import ABANDONED, COMMAND_RANK
from bylaw.dialects.file_policies.written import CompareTo
from bylaw.engine.outcome import DONE, StepOutcome
from bylaw.hosts.worktree.baselines import prompts_of_others
from bylaw.hosts.worktree.progress import no_words
from bylaw.model.decision import OPEN_ENTRIES, NeedName
from bylaw.model.effects import EntryWrite, OutcomePart, PromptShow
from bylaw.model.errors import BylawError
from bylaw.model.facts import WorkFacts
from bylaw.model.values import as_text
from bylaw.model.vocabulary import EffectStatus, Op
from bylaw.runtime.policy_settings import read_policy_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from bylaw.engine.index import RuleSet
    from bylaw.engine.plan import Due
    from bylaw.hosts.worktree.policy_commands import PolicyCommands
    from bylaw.hosts.worktree.queue.entry_file import QueueEntry
    from bylaw.hosts.worktree.queue.queue import Queue
    from bylaw.hosts.worktree.work_tree import WorkTree
    from bylaw.model.decision import Need
    from bylaw.model.event import Event
    from bylaw.model.facts import Changes, Entry, Facts
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.performing import Performers
    from bylaw.runtime.policy_settings import OutputMode
    from bylaw.runtime.settings.tables import CommandSettings
    from bylaw.runtime.trust import Trust


class FilePolicies:
    """Policies at work in the repository of a folder.

    `note` is told what a person should know, `show` how far commands are. `shown` is what was to
    be shown since somebody last took it away, `unknown` why facts could not be had, if so;
    `titles` are those of all policies in force, by identifier.
    """

    def __init__(
        self, start: str, note: Callable[[str], None], show: Callable[[str], None] = no_words
    ) -> None:
        self._start = start
        self.shown: list[PromptShow] = []
        self.unknown = ""
        self._note = note
        self._show_progress = show
        self._already_told: set[str] = set()
        self._wanted: frozenset[CompareTo] = frozenset()
        self.titles: dict[str, str] = {}
        self._policies: dict[str, str] = {}
        self._wants_abandoned = False
        self._may_run = False
        self._has_run = False
        # Of the stop that is judged: the hashes for which commands ran, with why that could not be
        # done, if so; and what was changed first.
        self._tried: dict[str, str] = {}
        self._first: Changes | None = None
        self._tree: WorkTree | None = None
        self._commands: PolicyCommands | None = None

    def put_in_force(
        self,
        rules: RuleSet,
        settings: CommandSettings,
        trust: Callable[[], Trust],
        redacted: Callable[[str], str] = str,
    ) -> None:
        """From now on these rules and settings count, in place of earlier ones.

        `redacted` takes secrets out of what is kept of the output of commands (DW-135).
        """
        policies = [rule for rule in rules.rules() if any(map(_is_about_changes, rule.needs))]
        keys = {need.key for rule in policies for need in rule.needs}
        self._wanted = frozenset(one for one in CompareTo if one in keys)
        self._policies = {rule.id: rule.uid for rule in policies}
        self._wants_abandoned = any(rule.uid == ABANDONED for rule in rules.rules())
        self._may_run = any(rule.rank == COMMAND_RANK for rule in policies)
        self.titles = {rule.id: rule.about.get("title", rule.id) for rule in policies}
        self._settings = settings
        self._trust = trust
        self._redacted = redacted
        self._commands = None

    @property
    def gatherers(self) -> Gatherers:
        """Who finds out changes and entries."""
        return {NeedName.CHANGES: self._gather_changes, NeedName.ENTRIES: self._gather_entries}

    @property
    def performers(self) -> Performers:
        """One method an effect."""
        return {
            Op.ENTRY_WRITE: self._write,
            Op.COMMAND_RUN: self._run,
            Op.PROMPT_SHOW: self._show,
            Op.BASELINE_CAPTURE: self._capture,
        }

    def output_mode(self) -> OutputMode:
        """How an agent is told of policies here."""
        return read_policy_settings(self.tree.root).output_mode

    def take_shown(self) -> list[PromptShow]:
        """What was to be shown since this was last asked; with that an event is over."""
        if self._tree is not None:
            self._tree.hang_up()
        taken, self.shown = self.shown, []
        return taken

    def take_back(self, answer: Answer, rules: Container[str]) -> None:
        """These rules, by uid, were let through at a stop: what they were to show was not shown.

        The stop goes through whatever becomes of the queue.
        """
        from bylaw.hosts.worktree.entry_writes import was_written  # noqa: PLC0415 - see below

        for due, outcome in answer.steps():
            if due.plan.uid in rules and isinstance(due.step, EntryWrite) and was_written(outcome):
                try:
                    self.queue.take_back(due.step)
                except BylawError as problem:
                    self._tell(f"`{due.plan.rule}` counts as shown, which it was not: {problem}")

    # Every hook of a coding agent has policies at hand, and few come to need what follows.

    @property
    def tree(self) -> WorkTree:
        """The work tree of the repository."""
        from bylaw.hosts.worktree.work_tree import WorkTree  # noqa: PLC0415 - see above

        if self._tree is None:
            self._tree = WorkTree(self._start)
        return self._tree

    @cached_property
    def queue(self) -> Queue:
        """The queue of the repository."""
        from bylaw.hosts.worktree.queue.queue import Queue  # noqa: PLC0415 - see above

        return Queue(self.tree.root, self._note)

    def _ready_commands(self) -> PolicyCommands:
        from bylaw.hosts.worktree.policy_commands import BOUNDS, PolicyCommands  # noqa: PLC0415 - see above
        from bylaw.runtime.run_command import CommandRunner  # noqa: PLC0415 - see above

        if self._commands is None:
            runner = CommandRunner(self.tree.root, self._settings, self._trust, BOUNDS)
            self._commands = PolicyCommands(
                self.tree, self.queue, runner, self._redacted, self._show_progress
            )
        return self._commands

    def _gather_changes(self, event: Event, need: Need) -> Facts | None:
        facts = event.facts
        if not isinstance(facts, WorkFacts):
            return None
        known = facts.changes
        if known is not UNSET and getattr(known, need.key) is not UNSET:
            return facts
        try:
            changes = self._changes(event, need, is_first=known is UNSET)
            return replace(facts, changes=changes)
        except BylawError as problem:
            self.unknown = str(problem)
            self._tell(self.unknown)
            return None

    def _changes(self, event: Event, need: Need, *, is_first: bool) -> Changes:
        """Against all baselines that any policy has: git is asked once for them together.

        Between the rounds of one stop nothing happens but commands.
        """
        if is_first and event.round <= 1:
            self.tree.forget()
            self.tree.may_run = self._may_run
            self._tried, self._first, self.unknown = {}, None, ""
        elif is_first and self._has_run:
            self.tree.take_in_commands()
        self._has_run = self._has_run and not is_first
        wanted = self._wanted | {CompareTo(need.key)}
        found = self.tree.changes(wanted, event.session)
        for note in self.tree.notes:
            self._tell(note)
        self._first = self._first or found
        return found

    def _gather_entries(self, event: Event, need: Need) -> Facts | None:
        facts = event.facts
        if not isinstance(facts, WorkFacts):
            return None
        known = {} if facts.entries is UNSET else facts.entries
        try:
            is_open = need.key == OPEN_ENTRIES
            found = self._open_entries(event, facts) if is_open else self._entry(event, need.key)
            return replace(facts, entries={**known, **found})
        except BylawError as problem:
            self.unknown = str(problem)
            self._tell(self.unknown)
            return None

    def _entry(self, event: Event, hash_: str) -> dict[str, Entry | None]:
        found = self.queue.find(hash_)
        return {hash_: None if found is None else self._fact(event, found)}

    def _fact(self, event: Event, entry: QueueEntry) -> Entry:
        """What rules may know of an entry, also what became of it in the first round of a stop."""
        if event.round <= 1 or self._first is None:
            return entry.fact
        from bylaw.hosts.worktree.present_digest import was_closed_on  # noqa: PLC0415 - see below

        return replace(
            entry.fact,
            tried_now=entry.trigger_hash in self._tried,
            result=entry.fact.result or self._tried.get(entry.trigger_hash, ""),
            stood_before=was_closed_on(entry, self._first),
        )

    def _open_entries(self, event: Event, facts: WorkFacts) -> dict[str, Entry]:
        """Of all policies that are in force and not switched off, in one look at the queue.

        Of the others, too, where a rule asks for these. What another session was shown since its
        prompt is for that session to answer.
        """
        off = frozenset(facts.disabled or ())
        asking = {name for name, uid in self._policies.items() if uid not in off}
        found = [
            one
            for one in self.queue.open_entries()
            if self._wants_abandoned or one.policy_name in asking
        ]
        theirs = self._prompts_of_others(event, {one.baseline_ref for one in found})
        kept = (one for one in found if one.baseline_ref not in theirs)
        return {one.trigger_hash: self._fact(event, one) for one in kept}

    def _prompts_of_others(self, event: Event, refs: set[str]) -> frozenset[str]:
        if not refs or CompareTo.PROMPT not in self._wanted:
            return frozenset()
        return prompts_of_others(self.tree.root, event.session, refs)

    def _write(self, due: Due, event: Event) -> StepOutcome:
        from bylaw.hosts.worktree.entry_writes import write_entry  # noqa: PLC0415 - see above

        ran = self._ready_commands().knows(due, event)
        return write_entry(self.queue, self.tree.root, due, event, ran=ran)

    def _run(self, due: Due, event: Event) -> StepOutcome:
        from bylaw.hosts.worktree.policy_commands import own_entry  # noqa: PLC0415 - see above

        commands = self._ready_commands()
        outcome = commands.perform(due, event)
        if entry := own_entry(due.plan):
            self._tried[entry.hash] = commands.unable
        self._has_run = self._has_run or commands.may_have_run
        why = as_text(outcome.says(OutcomePart.ERROR))
        if outcome.status is EffectStatus.REFUSED or commands.unable:
            self._tell(f"the command of `{due.plan.rule}` was not run: {why}")
        return outcome

    def _show(self, due: Due, _event: Event) -> StepOutcome:
        assert isinstance(due.step, PromptShow)
        self.shown.append(due.step)
        return DONE

    def _capture(self, _due: Due, event: Event) -> StepOutcome:
        self.tree.forget()
        path = self.tree.capture(event.at / 1000, event.session)
        return StepOutcome(EffectStatus.OK, {"result": path})

    def _tell(self, what: str) -> None:
        """What is so at every event is told once."""
        if what not in self._already_told:
            self._already_told.add(what)
            self._note(what)


def _is_about_changes(need: Need) -> bool:
    return need.name is NeedName.CHANGES
