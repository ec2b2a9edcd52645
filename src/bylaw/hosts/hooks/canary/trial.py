"""Test with a harmless command whether a client obeys Bylaw's hooks.

In a temporary folder, a rule denies one command. The fake model asks the client to run it. Of the
person's own setup, only the client's program is used.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec import Struct

from bylaw.hosts.hooks.canary.base import TrialPlace
from bylaw.hosts.hooks.canary.fake_model import fake_model
from bylaw.hosts.hooks.canary.running import run_client
from bylaw.hosts.hooks.canary.script import Turn
from bylaw.hosts.hooks.install.clients import CLIENTS
from bylaw.hosts.hooks.install.entries import with_entries
from bylaw.hosts.hooks.install.interpreter import interpreter
from bylaw.hosts.hooks.install.places import Scope, file_of
from bylaw.model.source import SourceFile
from bylaw.model.verdict import Verdict
from bylaw.model.vocabulary import Kind
from bylaw.runtime.configuration import CONFIGURATION
from bylaw.runtime.journal.errors import JournalError
from bylaw.runtime.journal.reader import JournalReader
from bylaw.runtime.settings.tables import JournalSettings

if TYPE_CHECKING:
    from bylaw.hosts.hooks.canary.base import TrialClient
    from bylaw.hosts.hooks.canary.running import Ran

REASON = "denied by the canary rule of Bylaw"
_FLOWN = "canary-command-ran"
_RULES = f"""\
<rules>
  <on id="canary" event="pre_tool_call" tool="shell">
    <deny reason="{REASON}"/>
  </on>
</rules>
"""
_SETTINGS = '[[book]]\npath = "canary.chatmd"\n'
_PROMPT = "run the canary command"


class Trial(Struct, frozen=True):
    """What was seen: a hook denied the call, the command did not run, the model read the reason."""

    fired: bool
    obeyed: bool
    reached: bool
    ran: Ran

    @property
    def holds(self) -> bool:
        """Whether rules control this client."""
        return self.fired and self.obeyed and self.reached


def try_client(client: TrialClient) -> Trial:
    """Start the real client. Raises NoProgramError if it is not installed."""
    with TemporaryDirectory(prefix="bylaw-canary-", ignore_cleanup_errors=True) as folder:
        home, root = Path(folder, "home"), Path(folder, "repository")
        home.mkdir()
        root.mkdir()
        Path(root, CONFIGURATION).write_text(_SETTINGS)
        Path(root, "canary.chatmd").write_text(_RULES)
        lay_hooks(client.host, str(root))
        wanted = Turn("", (client.shell(f"touch {_FLOWN}"),))
        with fake_model([wanted]) as model:
            place = TrialPlace(home=str(home), repository=str(root), url=model.url)
            ran = run_client(client, place, _PROMPT, {})
        flown = Path(root, _FLOWN).exists()
        # If the client never received the call, it did not obey a denial.
        obeyed = not flown and not model.turns
        return Trial(_has_denied(root), obeyed, model.was_told(REASON), ran)


def lay_hooks(host: str, root: str) -> None:
    """Write Bylaw's hooks into the configuration of an empty project."""
    client = CLIENTS[host]
    file = file_of(client, Scope.PROJECT, root)
    text = with_entries(SourceFile(file.shown, "{}\n"), client.wanted_entries(interpreter()))
    place = Path(file.location)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def _has_denied(root: Path) -> bool:
    question = "SELECT 1 FROM records WHERE kind = ? AND verdict = ? LIMIT 1"
    denied = (Kind.TOOL_BEFORE.value, Verdict.DENY.value)
    try:
        with JournalReader(str(root / JournalSettings().path)) as reader:
            return bool(reader.query(question, denied))
    except JournalError:
        return False  # no hook was called
