"""Check the file policies of a repository as at a stop, run their commands, and record it.

Also load the file policies of a root, with the diagnostics of files that do not load. Used by
`bylaw policies`.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.engine.index import RuleSet
from bylaw.languages.file_policies.reader import policy_id, read_with_note
from bylaw.languages.file_policies.syntax import NAME
from bylaw.model.decision import TraceResult
from bylaw.model.diagnostic import has_errors
from bylaw.model.display import brief
from bylaw.model.effects import CommandRun, EntryWrite, PromptShow
from bylaw.model.errors import BylawError
from bylaw.model.event import AgentStop, Message
from bylaw.model.rule import BUILT_IN, id_of, uid_of
from bylaw.model.source import SourceFile
from bylaw.model.suggest import did_you_mean
from bylaw.model.vocabulary import EffectStatus, Role
from bylaw.runtime.journal_access import open_journal
from bylaw.runtime.loader import load_root, load_texts
from bylaw.runtime.loop import Loop
from bylaw.runtime.policy_settings import CONFIG, LEGACY, read_policy_settings
from bylaw.runtime.root import read_configuration
from bylaw.runtime.rule_files import POLICIES, FoundRuleFile, RuleFileReason, RuleText, SearchResult
from bylaw.runtime.rules_in_force import DisabledRules
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.trust import Trust, check_trust
from bylaw.store.journal.records import rules_with_texts
from bylaw.store.switches import read_switches
from bylaw.store.system import now_ms
from bylaw.worktree.folders import write_summary
from bylaw.worktree.policies import SESSION, WorkTreeHost, ignore_progress
from bylaw.worktree.stop_message import split_reasons

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from bylaw.languages.file_policies.syntax import PolicySyntax
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.event import Event
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.loader import Library, LoadedBook
    from bylaw.worktree.entry import QueueEntry
    from bylaw.worktree.queue import Queue


class PolicyEntry(Struct, frozen=True):
    """A policy that loads, its file, and whether it is disabled."""

    policy: PolicySyntax
    path: str
    is_off: bool


class PolicyList(Struct, frozen=True):
    """The policies of a root, sorted by identifier, and diagnostics."""

    policies: tuple[PolicyEntry, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def has_errors(self) -> bool:
        """Whether a file has errors."""
        return has_errors(self.diagnostics)

    def named(self, name: str) -> PolicyEntry | None:
        """Return the policy with that identifier."""
        return next((one for one in self.policies if one.policy.id == name), None)

    def require_known(self, name: str, others: Iterable[str]) -> None:
        """Raise BylawError if the name is neither a policy nor one of `others`."""
        names = {*(one.policy.id for one in self.policies), *others}
        if name not in names:
            hint = did_you_mean(name, names) or "there are no policies here"
            raise BylawError(f"unknown policy `{brief(name)}`; {hint}")


def load_policies(root: str, tell: Callable[[str], None] | None = None) -> PolicyList:
    """Load the policies of a root like `bylaw check`. Raise LoadError if its settings fail."""
    read_configuration(root)
    library = load_root(root, tell)
    switches = read_switches(root)
    found = []
    for book in library.books:
        for path, file in book.texts.items() if book.dialect.name == POLICIES else ():
            policy = read_with_note(file.source, file.known).policy
            if policy is not None and path not in book.broken:
                off = uid_of(POLICIES, path, policy.id) in switches.disabled
                found.append(PolicyEntry(policy, path, off))
    found.sort(key=lambda one: one.policy.id)
    wrong = (*policy_diagnostics(library), *switches.diagnostics)
    return PolicyList(tuple(found), wrong)


def policy_diagnostics(library: Library) -> Iterator[Diagnostic]:
    """Select diagnostics of policies and their settings. Other commands report the rest."""
    books = (one for one in library.books if one.dialect.name == POLICIES)
    files = {CONFIG, LEGACY, *(found.path for one in books for found in one.files)}
    return (one for one in library.diagnostics if one.source.path in files)


class PolicyRun(Struct, frozen=True):
    """The result of one check of a repository.

    `entries` are those that the check read or wrote. `shown` are the messages for an agent, failed
    commands included. `diagnostics` are about policies that do not load. `refused` are policies
    whose commands were not run. `policies` are the names of all active policies.
    """

    root: str
    entries: tuple[QueueEntry, ...] = ()
    shown: tuple[PromptShow, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    refused: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()

    @property
    def needs_attention(self) -> bool:
        """Whether a person or an agent must do something."""
        return bool(self.shown or self.refused) or has_errors(self.diagnostics)


def run_policies(
    start: str,
    said: str | None,
    note: Callable[[str], None],
    show: Callable[[str], None] = ignore_progress,
    *,
    trust: bool,
) -> PolicyRun:
    """Check a work tree as if its agent stopped with the last message `said`.

    Raise BylawError if the check is not possible.
    """
    host = WorkTreeHost(start, note, show)
    root = host.tree.root
    library = load_root(root)
    with ExitStack() as stack:
        desk = _PolicyRun(root, library, host, stack, trust=trust)
        answers = [desk.submit(event) for event in _stop_events(said)]
    hashes = sorted({hash_ for answer in answers for hash_ in _entry_hashes(answer)})
    entries = [entry for hash_ in hashes if (entry := host.queue.find(hash_))]
    entries.sort(key=lambda entry: (entry.policy_name, entry.trigger_hash))
    shown, _ = split_reasons(answers[-1].deciding, host.shown, desk.rules)
    policies = tuple(sorted(host.titles))
    write_summary(root, host.queue, lambda: policies, now_ms(), note)
    refused = tuple(sorted({one for answer in answers for one in _refused_policies(answer)}))
    findings = tuple(policy_diagnostics(library))
    return PolicyRun(root, tuple(entries), tuple(shown), findings, refused, policies)


def _load_books(
    root: str, library: Library, off: Collection[str], queue: Queue
) -> list[LoadedBook]:
    """Return the policies. If a policy with open entries is gone or disabled, add a rule for it."""
    books = [one for one in library.governing if one.dialect.name == NAME]
    files = [file for one in books for file in one.files]
    known = {(name := policy_id(file.path)): uid_of(NAME, file.path, name) for file in files}
    waiting = {one.policy_name for one in queue.open_entries()}
    if all(known.get(one, "") not in ("", *off) for one in waiting):
        return books
    if not read_policy_settings(root).enabled:
        return books
    texts = [RuleText(file, one.texts[file.path].source) for one in books for file in one.files]
    # Load it with the others, so that it is stored and decisions can be replayed.
    found = FoundRuleFile(BUILT_IN, "", NAME, RuleFileReason.GIVEN, BUILT_IN, "")
    texts.append(RuleText(found, SourceFile(BUILT_IN, "")))
    return [*load_texts(SearchResult(root, (*files, found)), texts).books]


def _stop_events(said: str | None) -> list[Event]:
    """Return the events of one stop: the last message of the agent, then the stop."""
    heard = [] if said is None else [Message(session=SESSION, role=Role.ASSISTANT, text=said)]
    return [*heard, AgentStop(session=SESSION, text=said or "")]


class _PolicyRun:
    """The active policies of a root. Rules of other languages are not used."""

    def __init__(
        self, root: str, library: Library, host: WorkTreeHost, stack: ExitStack, *, trust: bool
    ) -> None:
        configuration = read_configuration(root)
        off = read_switches(root).disabled
        books = _load_books(root, library, off, host.queue)
        self.rules = RuleSet(one.book for one in books)
        journal = stack.enter_context(open_journal(root, configuration))
        scripts = stack.enter_context(ScriptRunner())

        def trusted() -> Trust:
            return Trust.for_one_run() if trust else check_trust(root, library, configuration)

        settings = trusted().in_force(configuration.settings)
        host.activate(self.rules, settings.command, trusted, journal.redactor.text)
        self._switches = DisabledRules([one.book for one in books], off)
        self._host = host
        self._loop = Loop(host, self.rules, rules_with_texts(books), journal, scripts)

    def submit(self, event: Event) -> Answer:
        (answer,) = self._loop.take([self._switches.stamp(event)])
        if answer.problem:
            raise BylawError(answer.problem)
        _require_evaluated(answer, self._host.unknown)
        return answer


def _require_evaluated(answer: Answer, unknown: str) -> None:
    """Raise BylawError if a policy could not be evaluated, so that this is not taken as success."""
    for line in (answer.again or answer).decision.trace:
        if line.result is TraceResult.GUARD_ERROR:
            policy = id_of(line.uid)
            raise BylawError(f"`{policy}` cannot be checked: {unknown or line.detail}")


def _entry_hashes(answer: Answer) -> Iterator[str]:
    """Yield the hashes of entries that a decision read or wrote."""
    rounds = [answer] if answer.again is None else [answer, answer.again]
    for one in rounds:
        yield from getattr(one.event.facts, "entries", None) or ()
        for _, _, step in one.decision.numbered_steps():
            if isinstance(step, EntryWrite):
                yield step.hash


def _refused_policies(answer: Answer) -> Iterator[str]:
    for due, outcome in answer.steps():
        if outcome.status is EffectStatus.REFUSED and isinstance(due.step, CommandRun):
            yield due.plan.rule
