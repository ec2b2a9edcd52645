"""Check the file policies of a repository as at a stop, run their commands, and record it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.dialects.file_policies.names import NAME
from bylaw.dialects.file_policies.reader import policy_id
from bylaw.engine.index import RuleSet
from bylaw.hosts.base import Loop
from bylaw.hosts.worktree.demands import unanswered
from bylaw.hosts.worktree.policy_state import summarise
from bylaw.hosts.worktree.progress import no_words
from bylaw.hosts.worktree.worktree_host import SESSION, WorkTreeHost
from bylaw.model.decision import TraceResult
from bylaw.model.diagnostic import has_errors
from bylaw.model.effects import CommandRun, EntryWrite, PromptShow
from bylaw.model.errors import BylawError
from bylaw.model.event import AgentStop, Message
from bylaw.model.source import SourceFile
from bylaw.model.uid import BUILT_IN, id_of, uid_of
from bylaw.model.vocabulary import EffectStatus, Role
from bylaw.runtime.clock import now_ms
from bylaw.runtime.discovery import Found, Search, Why
from bylaw.runtime.journal.opening import open_journal
from bylaw.runtime.journal.sources import rules_with_texts
from bylaw.runtime.loading import load_read, load_root
from bylaw.runtime.policy_settings import read_policy_settings
from bylaw.runtime.root import read_configuration
from bylaw.runtime.rule_texts import RuleText
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.switches import read_switches
from bylaw.runtime.switching import Switchboard
from bylaw.runtime.trust import Trust, trust_of
from bylaw.tools.policies.known import about_policies

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from bylaw.hosts.worktree.queue.entry_file import QueueEntry
    from bylaw.hosts.worktree.queue.queue import Queue
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.model.event import Event
    from bylaw.runtime.answer import Answer
    from bylaw.runtime.loading import Library, LoadedBook


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
    show: Callable[[str], None] = no_words,
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
        desk = _Desk(root, library, host, stack, trust=trust)
        answers = [desk.submit(event) for event in _events(said)]
    hashes = sorted({hash_ for answer in answers for hash_ in _hashes(answer)})
    entries = [entry for hash_ in hashes if (entry := host.queue.find(hash_))]
    entries.sort(key=lambda entry: (entry.policy_name, entry.trigger_hash))
    shown, _ = unanswered(answers[-1].deciding, host.shown, desk.rules)
    policies = tuple(sorted(host.titles))
    summarise(root, host.queue, lambda: policies, now_ms(), note)
    refused = tuple(sorted({one for answer in answers for one in _refused(answer)}))
    findings = tuple(about_policies(library))
    return PolicyRun(root, tuple(entries), tuple(shown), findings, refused, policies)


def _books(root: str, library: Library, off: Collection[str], queue: Queue) -> list[LoadedBook]:
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
    found = Found(BUILT_IN, "", NAME, Why.GIVEN, BUILT_IN, "")
    texts.append(RuleText(found, SourceFile(BUILT_IN, "")))
    return [*load_read(Search(root, (*files, found)), texts).books]


def _events(said: str | None) -> list[Event]:
    """Return the events of one stop: the last message of the agent, then the stop."""
    heard = [] if said is None else [Message(session=SESSION, role=Role.ASSISTANT, text=said)]
    return [*heard, AgentStop(session=SESSION, text=said or "")]


class _Desk:
    """The active policies of a root. Rules of other languages are not used."""

    def __init__(
        self, root: str, library: Library, host: WorkTreeHost, stack: ExitStack, *, trust: bool
    ) -> None:
        configuration = read_configuration(root)
        off = read_switches(root).disabled
        books = _books(root, library, off, host.queue)
        self.rules = RuleSet(one.book for one in books)
        journal = stack.enter_context(open_journal(root, configuration))
        scripts = stack.enter_context(ScriptRunner())

        def trusted() -> Trust:
            return Trust.for_one_run() if trust else trust_of(root, library, configuration)

        settings = trusted().in_force(configuration.settings)
        host.put_in_force(self.rules, settings.command, trusted, journal.redactor.text)
        self._switches = Switchboard([one.book for one in books], off)
        self._host = host
        self._loop = Loop(host, self.rules, rules_with_texts(books), journal, scripts)

    def submit(self, event: Event) -> Answer:
        (answer,) = self._loop.take([self._switches.stamp(event)])
        if answer.problem:
            raise BylawError(answer.problem)
        _refuse_unjudged(answer, self._host.unknown)
        return answer


def _refuse_unjudged(answer: Answer, unknown: str) -> None:
    """Raise BylawError if a policy could not be evaluated, so that this is not taken as success."""
    for line in (answer.again or answer).decision.trace:
        if line.result is TraceResult.GUARD_ERROR:
            policy = id_of(line.uid)
            raise BylawError(f"`{policy}` cannot be checked: {unknown or line.detail}")


def _hashes(answer: Answer) -> Iterator[str]:
    """Yield the hashes of entries that a decision read or wrote."""
    rounds = [answer] if answer.again is None else [answer, answer.again]
    for one in rounds:
        yield from getattr(one.event.facts, "entries", None) or ()
        for _, _, step in one.decision.numbered_steps():
            if isinstance(step, EntryWrite):
                yield step.hash


def _refused(answer: Answer) -> Iterator[str]:
    for due, outcome in answer.steps():
        if outcome.status is EffectStatus.REFUSED and isinstance(due.step, CommandRun):
            yield due.plan.rule
