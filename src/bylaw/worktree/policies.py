"""The part of a host that serves file policies: it gathers their facts and performs their effects.

Any host in which an agent stops can add this, see `Loop`. The repository is found when it is first
needed; without an active policy, git is not started. Git is asked once for all policies, and the
queue is read once. Between the rounds of one stop only commands run. What they did is known here
and is part of the facts. `WorkTreeHost` is a host without an agent, for `bylaw policies run`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from bylaw.engine.plan import DONE, StepOutcome
from bylaw.languages.file_policies.syntax import ABANDONED, COMMAND_RANK, CompareTo
from bylaw.model.decision import OPEN_ENTRIES, NeedName
from bylaw.model.effects import EntryWrite, OutcomePart, PromptShow
from bylaw.model.errors import BylawError
from bylaw.model.facts import WorkFacts
from bylaw.model.values import as_text
from bylaw.model.vocabulary import EffectStatus, Op
from bylaw.runtime.effects import WORKTREE
from bylaw.runtime.policy_settings import read_policy_settings
from bylaw.worktree.baselines import prompts_of_others

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from bylaw.engine.index import RuleSet
    from bylaw.engine.plan import DueStep
    from bylaw.model.decision import Need
    from bylaw.model.event import Event
    from bylaw.model.facts import Changes, Entry, Facts
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.effects import Performers
    from bylaw.runtime.needs import Gatherers
    from bylaw.runtime.policy_settings import OutputMode
    from bylaw.runtime.settings import CommandSettings
    from bylaw.runtime.trust import Trust
    from bylaw.worktree.changes import WorkTree
    from bylaw.worktree.commands import PolicyCommands
    from bylaw.worktree.entry import QueueEntry
    from bylaw.worktree.queue import Queue


class PolicyFacts:
    """Reads the work tree and the queue of a folder for the active policies.

    `note` receives texts for a person. `unknown` says why facts are not available, if so. `titles`
    has the titles of all active policies, by identifier.
    """

    def __init__(self, start: str, note: Callable[[str], None]) -> None:
        self.unknown = ""
        self.titles: dict[str, str] = {}
        self._start = start
        self._note = note
        self._noted: set[str] = set()
        self._wanted: frozenset[CompareTo] = frozenset()
        self._policies: dict[str, str] = {}
        self._wants_abandoned = False
        self._may_run = False
        # About the present stop: whether commands may have changed files since git was asked; the
        # hashes of the entries whose commands were tried, each with the reason if they could not
        # run; and the changes of the first round.
        self._has_run = False
        self._tried: dict[str, str] = {}
        self._first_changes: Changes | None = None
        self._tree: WorkTree | None = None

    def activate(self, rules: RuleSet) -> None:
        """Replace the active rules."""
        policies = [rule for rule in rules.rules() if any(map(_is_about_changes, rule.needs))]
        keys = {need.key for rule in policies for need in rule.needs}
        self._wanted = frozenset(one for one in CompareTo if one in keys)
        self._policies = {rule.id: rule.uid for rule in policies}
        self._wants_abandoned = any(rule.uid == ABANDONED for rule in rules.rules())
        self._may_run = any(rule.rank == COMMAND_RANK for rule in policies)
        self.titles = {rule.id: rule.about.get("title", rule.id) for rule in policies}

    @property
    def gatherers(self) -> Gatherers:
        """The functions that gather changes and entries."""
        return {NeedName.CHANGES: self._gather_changes, NeedName.ENTRIES: self._gather_entries}

    def record_tried(self, hash_: str, unable: str) -> None:
        """Record that the command of an entry ran in this stop. `unable`: why it could not."""
        self._tried[hash_] = unable

    def record_commands(self) -> None:
        """Record that commands ran, so files may have changed."""
        self._has_run = True

    def note_once(self, what: str) -> None:
        """Pass a text to `note`, unless it was passed before."""
        if what not in self._noted:
            self._noted.add(what)
            self._note(what)

    def hang_up(self) -> None:
        """Stop the processes of git at the end of an event."""
        if self._tree is not None:
            self._tree.hang_up()

    # Every hook of a coding agent creates this object, but few use what follows.

    @property
    def tree(self) -> WorkTree:
        """The work tree of the repository."""
        from bylaw.worktree.changes import WorkTree  # noqa: PLC0415 - see above

        if self._tree is None:
            self._tree = WorkTree(self._start)
        return self._tree

    @cached_property
    def queue(self) -> Queue:
        """The queue of the repository."""
        from bylaw.worktree.queue import Queue  # noqa: PLC0415 - see above

        return Queue(self.tree.root, self._note)

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
            self._note_unknown(problem)
            return None

    def _changes(self, event: Event, need: Need, *, is_first: bool) -> Changes:
        """Compare with the baselines of all policies at once, so that git is asked only once."""
        if is_first and event.round <= 1:
            self._begin_stop()
        elif is_first and self._has_run:
            self.tree.update_after_commands()
        self._has_run = self._has_run and not is_first
        wanted = self._wanted | {CompareTo(need.key)}
        found = self.tree.changes(wanted, event.session)
        for note in self.tree.notes:
            self.note_once(note)
        self._first_changes = self._first_changes or found
        return found

    def _begin_stop(self) -> None:
        self.tree.forget()
        self.tree.may_run = self._may_run
        self._tried, self._first_changes, self.unknown = {}, None, ""

    def _gather_entries(self, event: Event, need: Need) -> Facts | None:
        facts = event.facts
        if not isinstance(facts, WorkFacts):
            return None
        known = {} if facts.entries is UNSET else facts.entries
        try:
            is_open = need.key == OPEN_ENTRIES
            found = (
                self._open_entries(event, facts) if is_open else self._read_entry(event, need.key)
            )
            return replace(facts, entries={**known, **found})
        except BylawError as problem:
            self._note_unknown(problem)
            return None

    def _note_unknown(self, problem: BylawError) -> None:
        self.unknown = str(problem)
        self.note_once(self.unknown)

    def _read_entry(self, event: Event, hash_: str) -> dict[str, Entry | None]:
        found = self.queue.find(hash_)
        return {hash_: None if found is None else self._fact(event, found)}

    def _fact(self, event: Event, entry: QueueEntry) -> Entry:
        """Return an entry as rules see it, with the results of the first round of the stop."""
        if event.round <= 1 or self._first_changes is None:
            return entry.fact
        from bylaw.worktree.changes import was_closed_with  # noqa: PLC0415 - see above

        return replace(
            entry.fact,
            tried_now=entry.trigger_hash in self._tried,
            result=entry.fact.result or self._tried.get(entry.trigger_hash, ""),
            stood_before=was_closed_with(entry, self._first_changes),
        )

    def _open_entries(self, event: Event, facts: WorkFacts) -> dict[str, Entry]:
        """Return the open entries of all policies that are active and enabled.

        If a rule asks for entries of other policies, these are included. Entries that compare with
        a prompt of another session are left out, because that session must answer them.
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


def ignore_progress(_: str) -> None:
    """Ignore progress."""


def _is_about_changes(need: Need) -> bool:
    return need.name is NeedName.CHANGES


class FilePolicies:
    """File policies for the repository of a folder.

    `note` receives texts for a person, `show` the progress of commands. `shown` collects the
    messages to show until `take_shown`. `PolicyFacts` gathers the facts.
    """

    def __init__(
        self, start: str, note: Callable[[str], None], show: Callable[[str], None] = ignore_progress
    ) -> None:
        self.shown: list[PromptShow] = []
        self._facts = PolicyFacts(start, note)
        self._show_progress = show
        self._commands: PolicyCommands | None = None

    def activate(
        self,
        rules: RuleSet,
        settings: CommandSettings,
        trust: Callable[[], Trust],
        redacted: Callable[[str], str] = str,
    ) -> None:
        """Replace the active rules and settings.

        `redacted` removes secrets from the stored output of commands (DW-135).
        """
        self._facts.activate(rules)
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

    def pop_shown(self) -> list[PromptShow]:
        """Return and clear the messages to show. Call it at the end of an event."""
        self._facts.hang_up()
        taken, self.shown = self.shown, []
        return taken

    def take_back(self, answer: Answer, rules: Container[str]) -> None:
        """Decrease `shown` of these rules, by uid: the stop was released without their messages.

        The stop is released even if the queue cannot be written.
        """
        from bylaw.worktree.commands import was_written  # noqa: PLC0415 - see below

        for due, outcome in answer.steps():
            if due.plan.uid in rules and isinstance(due.step, EntryWrite) and was_written(outcome):
                try:
                    self.queue.take_back(due.step)
                except BylawError as problem:
                    self._facts.note_once(
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
        from bylaw.runtime.sandbox.step import CommandRunner  # noqa: PLC0415 - see above
        from bylaw.worktree.commands import BOUNDS, PolicyCommands  # noqa: PLC0415 - see above

        if self._commands is None:
            runner = CommandRunner(self.tree.root, self._settings, self._trust, BOUNDS)
            self._commands = PolicyCommands(
                self.tree, self.queue, runner, self._redacted, self._show_progress
            )
        return self._commands

    def _write(self, due: DueStep, event: Event) -> StepOutcome:
        from bylaw.worktree.commands import write_entry  # noqa: PLC0415 - see above

        ran = self._ready_commands().knows(due, event)
        return write_entry(self.queue, self.tree.root, due, event, ran=ran)

    def _run(self, due: DueStep, event: Event) -> StepOutcome:
        from bylaw.worktree.commands import closing_step  # noqa: PLC0415 - see above

        commands = self._ready_commands()
        outcome = commands.perform(due, event)
        if entry := closing_step(due.plan):
            self._facts.record_tried(entry.hash, commands.problem)
        if commands.may_have_run:
            self._facts.record_commands()
        why = as_text(outcome.says(OutcomePart.ERROR))
        if outcome.status is EffectStatus.REFUSED or commands.problem:
            self._facts.note_once(f"the command of `{due.plan.rule}` was not run: {why}")
        return outcome

    def _show(self, due: DueStep, _event: Event) -> StepOutcome:
        assert isinstance(due.step, PromptShow)
        self.shown.append(due.step)
        return DONE

    def _capture(self, _due: DueStep, event: Event) -> StepOutcome:
        self.tree.forget()
        path = self.tree.capture(event.at / 1000, event.session)
        return StepOutcome(EffectStatus.OK, {"result": path})


SESSION = WORKTREE


class WorkTreeHost(FilePolicies):
    """File policies alone: no transcript and no other effects."""

    name = WORKTREE
    scribe = None
