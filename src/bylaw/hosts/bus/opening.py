"""Open the bus of a root: build the orchestrator with all its parts, and run it."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.base import Loop
from bylaw.hosts.bus.approvals.opinions import Approvals
from bylaw.hosts.bus.approvals.revoking import Revocations
from bylaw.hosts.bus.bus_host import LOCKS, BusHost
from bylaw.hosts.bus.events import SESSION, Events
from bylaw.hosts.bus.in_force import LAWLESS, InForce
from bylaw.hosts.bus.intake import Intake
from bylaw.hosts.bus.ledger.ledger import Ledger
from bylaw.hosts.bus.ledger.restoring import restore
from bylaw.hosts.bus.messages.evidence import clear_unfinished
from bylaw.hosts.bus.messages.folders import INPUT, BusFolders
from bylaw.hosts.bus.orchestrator import Orchestrator
from bylaw.hosts.bus.recovering import Recovery
from bylaw.hosts.bus.submitting import Submissions
from bylaw.runtime.journal.opening import open_journal
from bylaw.runtime.locks import Locks
from bylaw.runtime.paths import real_path
from bylaw.runtime.root import read_configuration
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.shared_files import TOKENS
from bylaw.runtime.state_folder import STATE
from bylaw.tools.printers.text import render
from bylaw.tools.printers.wording import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bylaw.hosts.bus.handled import Handled
    from bylaw.hosts.bus.waking import Waking
    from bylaw.hosts.bus.watcher.wake import News
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.runtime.journal.store import Journal


class Telling(Struct, frozen=True):
    """Callbacks: `handled` receives each result, `note` receives messages for a person."""

    handled: Callable[[Handled], None]
    note: Callable[[str], None]


class OpenBus:
    """The orchestrator of one root with all its parts. `stack` closes them."""

    def __init__(self, root: str, telling: Telling, stack: ExitStack, *, trust: bool) -> None:
        self.root = root
        self._telling = telling
        self._stack = stack
        self._told: list[str] = []
        self._waking: Waking | None = None
        self.in_force = InForce(root, trusted_once=trust)
        self._tell_problems(self.in_force.diagnostics)
        self._journal: Journal = stack.enter_context(open_journal(root, read_configuration(root)))
        self.bus = stack.enter_context(BusFolders(root, self.in_force.settings.law.bus))
        self.ledger = Ledger(root)
        stack.callback(self.ledger.close)
        restored = restore(self.ledger, self._journal)
        if restored:
            telling.note(f"ledger lost; restored {number_of(restored, 'message')} from the journal")
        clear_unfinished(self.bus)
        approvals = Approvals(root, self.bus.path, self.ledger)
        self.revocations = Revocations(approvals.facts)
        locks = Locks(f"{root}/{LOCKS}")
        host = BusHost(root, self.bus, self._journal, self.in_force, self.revocations, locks)
        self._loop = self._open_loop(host)
        self._submissions = Submissions(host, self._loop)
        self._events = Events(root, self.in_force, approvals, self.ledger)
        intake = Intake(
            self.bus,
            self.ledger,
            self._events,
            self.in_force,
            self._submissions,
            last_seq=self._journal.session(SESSION).seq,
        )
        recovery = Recovery(self.bus, self.ledger, intake, self._loop, locks)
        self.orchestrator = Orchestrator(
            self.bus, self.ledger, intake, recovery, telling.handled, telling.note
        )

    def _open_loop(self, host: BusHost) -> Loop:
        scripts = self._stack.enter_context(ScriptRunner())
        in_force = self.in_force
        return Loop(host, in_force.rules, in_force.texts, self._journal, scripts)

    def end(self) -> None:
        """End the running command and then the loop. Safe in a signal handler."""
        self.orchestrator.end()
        self.revocations.end()
        if self._waking is not None:
            self._waking.wake()

    def run(self) -> None:
        """Watch for messages and file changes, and handle them until `end` is called."""
        from bylaw.hosts.bus.file_rules import FileRules  # noqa: PLC0415 - needs the extra `watch`
        from bylaw.hosts.bus.waking import Waking  # noqa: PLC0415 - same

        waking = self._waking = Waking(self.root, self._watched_folders(), self.revocations)
        self._stack.callback(waking.close)
        excluded = (self.bus.path, STATE, LOCKS, ".git")
        files = FileRules(
            self.root, excluded, self._events, self.in_force, self._submissions, self._journal
        )
        self._stack.callback(files.close)
        self.orchestrator.run(waking, files, self._take_over_rules)

    def _watched_folders(self) -> set[str]:
        """The root (shared context, settings), `input`, and the folders of tokens and rules."""
        return {"", f"{self.bus.path}/{INPUT}", TOKENS, *self.in_force.folders()}

    def _take_over_rules(self, news: list[News]) -> None:
        """Reload changed rules, settings and disabled rules, so that the next event uses them."""
        paths = [path for one in news for path in one.paths]
        anywhere = any(one.everything for one in news)
        if not anywhere and not self.in_force.has_changed(paths):
            return
        self._tell_problems(self.in_force.reload())
        self._loop.runtime.renew(self.in_force.rules, self.in_force.texts)

    def _tell_problems(self, problems: tuple[Diagnostic, ...]) -> None:
        """Note the problems of rules and settings, if they differ from those noted last."""
        told = [render(problems).rstrip()] if problems else []
        if not self.in_force.has_law:
            told.append(f"{LAWLESS}: messages wait in `{INPUT}`")
        if told and told != self._told:
            self._telling.note("\n".join(told))
        self._told = told


@contextmanager
def open_bus(root: str, telling: Telling, *, trust: bool) -> Iterator[OpenBus]:
    """Open the bus of a root. Raises BylawError if a part of it cannot be used."""
    with ExitStack() as stack:
        yield OpenBus(real_path(root), telling, stack, trust=trust)
