"""Open the bus of a root and run its main loop.

The loop handles what is in `input`, waits for changes, and repeats until `end`. It handles one
message or file change at a time. Several orchestrators may run on one root: the one that claims a
message handles it, and the one that holds the watch handles file changes.

`input`, the folders of rules and the places where people decide have a watch of their own, which
checks a change of an approval at once. `file_rules.py` watches the tree of files.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.bus.active_rules import NO_ACTIVE_RULES, ActiveRules
from bylaw.hosts.bus.bus_host import BusHost
from bylaw.hosts.bus.events import SESSION, Events
from bylaw.hosts.bus.evidence import clear_unfinished
from bylaw.hosts.bus.folders import INPUT, BusFolders
from bylaw.hosts.bus.handle_message import JournalSubmitter, MessageHandler
from bylaw.hosts.bus.ledger import PENDING, Ledger
from bylaw.hosts.bus.message_file import NotYet, list_claims
from bylaw.hosts.bus.recovery import Recovery, restore_ledger
from bylaw.hosts.bus.statements import Approvals, Revocations
from bylaw.hosts.bus.watcher.folder_watch import ChangeNotice, FolderWatch, WatchPlan
from bylaw.hosts.bus.watcher.scan import with_ancestors
from bylaw.model.diagnostic_text import render
from bylaw.model.display import number_of, visible
from bylaw.runtime.journal_access import open_journal
from bylaw.runtime.loop import Loop
from bylaw.runtime.root import read_configuration
from bylaw.runtime.scripts import ScriptRunner
from bylaw.runtime.shared_context import SHARED_CONTEXT, TOKENS
from bylaw.store.locks import LOCKS, Locks
from bylaw.store.paths import is_inside, real_path
from bylaw.store.state_folder import STATE_FOLDER
from bylaw.store.system import now_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bylaw.hosts.bus.file_rules import FileRules
    from bylaw.hosts.bus.handle_message import MessageOutcome
    from bylaw.model.diagnostic import Diagnostic
    from bylaw.store.journal.journal import Journal

# How long `run_once` waits for messages that are still being written.
MAX_WAIT_S = 10.0
# How often to check whether another orchestrator died. No event reports that.
CHECK_PEERS_S = 2.0
FILE_REMOVED = "its file was removed"


class Orchestrator:
    """Handle messages, and file changes if it holds the watch. `tell` receives each result."""

    def __init__(
        self,
        bus: BusFolders,
        ledger: Ledger,
        intake: MessageHandler,
        recovery: Recovery,
        tell: Callable[[MessageOutcome], None],
        note: Callable[[str], None],
    ) -> None:
        self._bus = bus
        self._ledger = ledger
        self._intake = intake
        self._recovery = recovery
        self._tell = tell
        self._note = note
        self._ending = False

    def end(self) -> None:
        """Finish the current message or change, then stop. Safe in a signal handler."""
        self._ending = True

    def run_once(self) -> None:
        """Handle what is in `input` now. Wait up to `MAX_WAIT_S` for files still being written."""
        self._recover()
        self._withdraw_removed()
        until = monotonic() + MAX_WAIT_S
        names = self._bus.names()
        while names and not self._ending:
            waits = self._handle_files(names, quietly=False)
            pause = min((one.wait_s for one in waits.values()), default=0)
            if monotonic() + pause > until:
                for name, one in waits.items():
                    self._note(f"`{visible(name)}` stays in `input`: {one.why}")
                return
            names = list(waits)
            sleep(pause)

    def run(
        self, waking: BusWakeUp, files: FileRules, before_each: Callable[[list[ChangeNotice]], None]
    ) -> None:
        """Handle messages and changes until `end`. Each round calls `before_each` first."""
        looked_after = -CHECK_PEERS_S
        news: list[ChangeNotice] = []
        while not self._ending:
            before_each(news)
            if monotonic() - looked_after >= CHECK_PEERS_S:
                looked_after = monotonic()
                self._recover()
                self._withdraw_removed()
                files.try_to_watch(waking.hear)
            for note in (*(one.note for one in news if one.note), *files.process_notices(news)):
                self._note(note)
            waits = self._handle_files(self._bus.names(), quietly=True)
            changes = files.handle()
            while not self._ending and (handled := next(changes, None)) is not None:
                self._tell(handled)
            pause = min([CHECK_PEERS_S, files.next_due(), *(one.wait_s for one in waits.values())])
            news = waking.wait(0 if self._ending else pause)

    def _handle_files(self, names: Iterable[str], *, quietly: bool) -> dict[str, NotYet]:
        """Handle files in the order of their names. Return those that are not ready."""
        self._bus.check_place()
        waits: dict[str, NotYet] = {}
        for name in names:
            if self._ending:
                break
            handled = self._intake.handle(name)
            if isinstance(handled, NotYet):
                waits[name] = handled
            elif handled is not None and (handled.is_news or not quietly):
                self._tell(handled)
        return waits

    def _recover(self) -> None:
        for handled in self._recovery.recover():
            self._tell(handled)

    def _withdraw_removed(self) -> None:
        """Withdraw waiting messages whose file was removed."""
        pending = self._ledger.messages_in(*PENDING)
        if not pending:
            return
        # List `input` twice: a file that is moved back meanwhile is in one of the two lists.
        there = {
            *self._bus.names(),
            *(one.name for one in list_claims(self._bus)),
            *self._bus.names(),
        }
        seen = {visible(name) for name in there}
        for known in pending:
            if known.file not in seen:
                self._ledger.withdraw(known, why=FILE_REMOVED, at=now_ms())


class BusListener(Struct, frozen=True):
    """Callbacks: `handled` receives each result, `note` receives messages for a person."""

    handled: Callable[[MessageOutcome], None]
    note: Callable[[str], None]


class OpenBus:
    """The orchestrator of one root with all its parts. `stack` closes them."""

    def __init__(self, root: str, telling: BusListener, stack: ExitStack, *, trust: bool) -> None:
        self.root = root
        self._listener = telling
        self._stack = stack
        self._reported: list[str] = []
        self._wake_up: BusWakeUp | None = None
        self.in_force = ActiveRules(root, trusted_once=trust)
        self._report_problems(self.in_force.diagnostics)
        self._journal: Journal = stack.enter_context(open_journal(root, read_configuration(root)))
        self.bus = stack.enter_context(BusFolders(root, self.in_force.settings.law.bus))
        self.ledger = Ledger(root)
        stack.callback(self.ledger.close)
        restored = restore_ledger(self.ledger, self._journal)
        if restored:
            telling.note(f"ledger lost; restored {number_of(restored, 'message')} from the journal")
        clear_unfinished(self.bus)
        approvals = Approvals(root, self.bus.path, self.ledger)
        self.revocations = Revocations(approvals.facts)
        locks = Locks(f"{root}/{LOCKS}")
        host = BusHost(root, self.bus, self._journal, self.in_force, self.revocations, locks)
        self._loop = self._open_loop(host)
        self._submissions = JournalSubmitter(host, self._loop)
        self._events = Events(root, self.in_force, approvals, self.ledger)
        intake = MessageHandler(
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
        if self._wake_up is not None:
            self._wake_up.wake()

    def run(self) -> None:
        """Watch for messages and file changes, and handle them until `end` is called."""
        from bylaw.hosts.bus.file_rules import FileRules  # noqa: PLC0415 - needs the extra `watch`

        waking = self._wake_up = BusWakeUp(self.root, self._watched_folders(), self.revocations)
        self._stack.callback(waking.close)
        excluded = (self.bus.path, STATE_FOLDER, LOCKS, ".git")
        files = FileRules(
            self.root, excluded, self._events, self.in_force, self._submissions, self._journal
        )
        self._stack.callback(files.close)
        self.orchestrator.run(waking, files, self._reload_rules)

    def _watched_folders(self) -> set[str]:
        """The root (shared context, settings), `input`, and the folders of tokens and rules."""
        return {"", f"{self.bus.path}/{INPUT}", TOKENS, *self.in_force.folders()}

    def _reload_rules(self, news: list[ChangeNotice]) -> None:
        """Reload changed rules, settings and disabled rules, so that the next event uses them."""
        paths = [path for one in news for path in one.paths]
        anywhere = any(one.everything for one in news)
        if not anywhere and not self.in_force.has_changed(paths):
            return
        self._report_problems(self.in_force.reload())
        self._loop.runtime.renew(self.in_force.rules, self.in_force.texts)

    def _report_problems(self, problems: tuple[Diagnostic, ...]) -> None:
        """Note the problems of rules and settings, if they differ from those noted last."""
        told = [render(problems).rstrip()] if problems else []
        if not self.in_force.has_law:
            told.append(f"{NO_ACTIVE_RULES}: messages wait in `{INPUT}`")
        if told and told != self._reported:
            self._listener.note("\n".join(told))
        self._reported = told


@contextmanager
def open_bus(root: str, telling: BusListener, *, trust: bool) -> Iterator[OpenBus]:
    """Open the bus of a root. Raises BylawError if a part of it cannot be used."""
    with ExitStack() as stack:
        yield OpenBus(real_path(root), telling, stack, trust=trust)


class BusWakeUp:
    """Pass changes from the threads of the watch to the main loop. `close` ends the threads."""

    def __init__(self, root: str, folders: Iterable[str], revocations: Revocations) -> None:
        self._sources = (f"{root}/{SHARED_CONTEXT}", f"{root}/{TOKENS}")
        self._revocations = revocations
        self._notices: SimpleQueue[ChangeNotice] = SimpleQueue()
        self._folder_watch = FolderWatch(root, self.hear)
        # Their parents report when one of them is created or replaced.
        flat = frozenset(path for folder in folders for path in with_ancestors(folder))
        self._folder_watch.watch(WatchPlan(flat=flat, deep=frozenset()))

    def hear(self, news: ChangeNotice) -> None:
        """Receive a change, in a thread of the watch: a revocation must end a command at once."""
        if news.everything or any(map(self._is_approval_source, news.paths)):
            self._revocations.end_if_revoked()
        self._notices.put(news)

    def wake(self) -> None:
        """End a wait. Safe in a signal handler, because `SimpleQueue.put` is reentrant."""
        self._notices.put(ChangeNotice())

    def wait(self, seconds: float) -> list[ChangeNotice]:
        """Wait at most `seconds` for a change. Return all changes that have arrived."""
        heard: list[ChangeNotice] = []
        try:
            heard.append(self._notices.get(timeout=max(seconds, 0)))
            while True:
                heard.append(self._notices.get_nowait())
        except Empty:
            return heard

    def close(self) -> None:
        """Stop watching."""
        self._folder_watch.close()

    def _is_approval_source(self, path: str) -> bool:
        return any(is_inside(path, source) for source in self._sources)
