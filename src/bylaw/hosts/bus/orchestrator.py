"""The main loop of the bus: handle what is in `input`, wait for changes, repeat until `end`.

An orchestrator handles one message or file change at a time. Several may run on one root: the one
that claims a message handles it, and the one that holds the watch handles file changes.
"""

from __future__ import annotations

from time import monotonic, sleep
from typing import TYPE_CHECKING

from bylaw.hosts.bus.ledger.ledger import PENDING
from bylaw.hosts.bus.messages.claims import claims
from bylaw.hosts.bus.messages.message_file import NotYet
from bylaw.model.visible import visible
from bylaw.runtime.clock import now_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bylaw.hosts.bus.file_rules import FileRules
    from bylaw.hosts.bus.handled import Handled
    from bylaw.hosts.bus.intake import Intake
    from bylaw.hosts.bus.ledger.ledger import Ledger
    from bylaw.hosts.bus.messages.folders import BusFolders
    from bylaw.hosts.bus.recovering import Recovery
    from bylaw.hosts.bus.waking import Waking
    from bylaw.hosts.bus.watcher.wake import News

# How long `run_once` waits for messages that are still being written.
MAX_WAIT_S = 10.0
# How often to check whether another orchestrator died. No event reports that.
PEERS_S = 2.0
TAKEN_AWAY = "its file was removed"


class Orchestrator:
    """Handle messages, and file changes if it holds the watch. `tell` receives each result."""

    def __init__(
        self,
        bus: BusFolders,
        ledger: Ledger,
        intake: Intake,
        recovery: Recovery,
        tell: Callable[[Handled], None],
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
        self._note_withdrawn()
        until = monotonic() + MAX_WAIT_S
        names = self._bus.names()
        while names and not self._ending:
            waits = self._pass(names, quietly=False)
            pause = min((one.wait_s for one in waits.values()), default=0)
            if monotonic() + pause > until:
                for name, one in waits.items():
                    self._note(f"`{visible(name)}` stays in `input`: {one.why}")
                return
            names = list(waits)
            sleep(pause)

    def run(
        self, waking: Waking, files: FileRules, before_each: Callable[[list[News]], None]
    ) -> None:
        """Handle messages and changes until `end`. Each round calls `before_each` first."""
        looked_after = -PEERS_S
        news: list[News] = []
        while not self._ending:
            before_each(news)
            if monotonic() - looked_after >= PEERS_S:
                looked_after = monotonic()
                self._recover()
                self._note_withdrawn()
                files.try_to_watch(waking.hear)
            for note in (*(one.note for one in news if one.note), *files.heard(news)):
                self._note(note)
            waits = self._pass(self._bus.names(), quietly=True)
            changes = files.handle()
            while not self._ending and (handled := next(changes, None)) is not None:
                self._tell(handled)
            pause = min([PEERS_S, files.next_due(), *(one.wait_s for one in waits.values())])
            news = waking.wait(0 if self._ending else pause)

    def _pass(self, names: Iterable[str], *, quietly: bool) -> dict[str, NotYet]:
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

    def _note_withdrawn(self) -> None:
        """Withdraw waiting messages whose file was removed."""
        pending = self._ledger.in_state(*PENDING)
        if not pending:
            return
        # List `input` twice: a file that is moved back meanwhile is in one of the two lists.
        there = {*self._bus.names(), *(one.name for one in claims(self._bus)), *self._bus.names()}
        seen = {visible(name) for name in there}
        for known in pending:
            if known.file not in seen:
                self._ledger.withdraw(known, why=TAKEN_AWAY, at=now_ms())
