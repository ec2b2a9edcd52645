"""Gather the facts that file policies need: changes of the work tree, and queue entries.

Git is asked once for all policies, and the queue is read once. Between the rounds of one stop only
commands run. What they did is known here and is part of the facts.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from bylaw.dialects.file_policies.names import ABANDONED, COMMAND_RANK
from bylaw.dialects.file_policies.written import CompareTo
from bylaw.hosts.worktree.baselines import prompts_of_others
from bylaw.model.decision import OPEN_ENTRIES, NeedName
from bylaw.model.errors import BylawError
from bylaw.model.facts import WorkFacts

if TYPE_CHECKING:
    from collections.abc import Callable

    from bylaw.engine.index import RuleSet
    from bylaw.hosts.worktree.queue.entry_file import QueueEntry
    from bylaw.hosts.worktree.queue.queue import Queue
    from bylaw.hosts.worktree.work_tree import WorkTree
    from bylaw.model.decision import Need
    from bylaw.model.event import Event
    from bylaw.model.facts import Changes, Entry, Facts
    from bylaw.runtime.needs import Gatherers


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
        self._already_told: set[str] = set()
        self._wanted: frozenset[CompareTo] = frozenset()
        self._policies: dict[str, str] = {}
        self._wants_abandoned = False
        self._may_run = False
        # About the present stop: whether commands may have changed files since git was asked; the
        # hashes of the entries whose commands were tried, each with the reason if they could not
        # run; and the changes of the first round.
        self._has_run = False
        self._tried: dict[str, str] = {}
        self._first: Changes | None = None
        self._tree: WorkTree | None = None

    def put_in_force(self, rules: RuleSet) -> None:
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

    def was_tried(self, hash_: str, unable: str) -> None:
        """Record that the command of an entry ran in this stop. `unable`: why it could not."""
        self._tried[hash_] = unable

    def may_have_changed(self) -> None:
        """Record that commands ran, so files may have changed."""
        self._has_run = True

    def tell_once(self, what: str) -> None:
        """Pass a text to `note`, unless it was passed before."""
        if what not in self._already_told:
            self._already_told.add(what)
            self._note(what)

    def hang_up(self) -> None:
        """Stop the processes of git at the end of an event."""
        if self._tree is not None:
            self._tree.hang_up()

    # Every hook of a coding agent creates this object, but few use what follows.

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
            self.tree.take_in_commands()
        self._has_run = self._has_run and not is_first
        wanted = self._wanted | {CompareTo(need.key)}
        found = self.tree.changes(wanted, event.session)
        for note in self.tree.notes:
            self.tell_once(note)
        self._first = self._first or found
        return found

    def _begin_stop(self) -> None:
        self.tree.forget()
        self.tree.may_run = self._may_run
        self._tried, self._first, self.unknown = {}, None, ""

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
            self._note_unknown(problem)
            return None

    def _note_unknown(self, problem: BylawError) -> None:
        self.unknown = str(problem)
        self.tell_once(self.unknown)

    def _entry(self, event: Event, hash_: str) -> dict[str, Entry | None]:
        found = self.queue.find(hash_)
        return {hash_: None if found is None else self._fact(event, found)}

    def _fact(self, event: Event, entry: QueueEntry) -> Entry:
        """Return an entry as rules see it, with the results of the first round of the stop."""
        if event.round <= 1 or self._first is None:
            return entry.fact
        from bylaw.hosts.worktree.present_digest import was_closed_on  # noqa: PLC0415 - see above

        return replace(
            entry.fact,
            tried_now=entry.trigger_hash in self._tried,
            result=entry.fact.result or self._tried.get(entry.trigger_hash, ""),
            stood_before=was_closed_on(entry, self._first),
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


def _is_about_changes(need: Need) -> bool:
    return need.name is NeedName.CHANGES
